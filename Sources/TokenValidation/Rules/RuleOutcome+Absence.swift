import PosternSupport

extension RuleOutcome {
  /// `claim` is absent: `missing_claim`, unless that is allowed.
  static func absent(_ claim: String, unless isAllowed: Bool = false) -> RuleOutcome {
    .require(isAllowed, TokenFault(.missingClaim, "\(claim) is missing", claim: claim))
  }
}
