import JOSE

/// The token says who is logged out: `sub`, `sid` or both (Back-Channel Logout 1.0 section 2.4).
struct LogoutTargetRule: ClaimRule {
  func outcome(in context: RuleContext) -> RuleOutcome {
    .require(
      ["sub", "sid"].contains { !(context.claims.string($0) ?? "").isEmpty },
      TokenFault(.subOrSidMissing, "the token names neither a subject nor a session"))
  }
}
