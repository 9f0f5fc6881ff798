extension RuleOutcome {
  /// `claim` is absent: `missing_claim`, unless that is allowed.
  static func absent(_ claim: String, unless isAllowed: Bool = false) -> RuleOutcome {
    .require(isAllowed, TokenFault(.missingClaim, "\(claim) is missing", claim: claim))
  }
}

extension String {
  /// Whether both hold the same UTF-8. `==` also accepts canonical equivalents, which are other identifiers here.
  func isIdentical(to other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension [String] {
  /// Whether one element is `text`, byte by byte.
  func containsIdentical(_ text: String) -> Bool { contains { $0.isIdentical(to: text) } }
}
