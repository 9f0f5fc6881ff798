import JOSE

/// `jti` is present and not empty (RFC 9068 section 2.2; Back-Channel Logout 1.0 section 2.4).
struct TokenIdentifierRule: ClaimRule {
  /// For identifiers that are remembered: longer ones are not an identifier but a burden.
  var maximumByteCount = Int.max

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let identifier = context.claims.string("jti") else { return .absent("jti") }
    return .require(
      !identifier.isEmpty && identifier.utf8.count <= maximumByteCount,
      TokenFault(.invalidClaim, "jti is empty or too long", claim: "jti"))
  }
}
