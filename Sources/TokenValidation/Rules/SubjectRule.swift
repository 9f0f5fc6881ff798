import JOSE

/// `sub` is 1 to 255 ASCII characters (OpenID Connect Core section 2).
struct SubjectRule: ClaimRule {
  private static let maximumCount = 255

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let subject = context.claims.string("sub") else { return .absent("sub") }
    return .require(
      (1...Self.maximumCount).contains(subject.utf8.count) && subject.utf8.allSatisfy { $0 < 0x80 },
      TokenFault(.invalidClaim, "sub is empty, longer than 255 characters, or not ASCII", claim: "sub"))
  }
}
