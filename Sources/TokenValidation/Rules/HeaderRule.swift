import JOSE

/// One thing that must be true of a token before a key is chosen for it.
protocol HeaderRule: Sendable {
  /// Whether it is true of a header and the claims beside it, neither of them verified.
  func outcome(for header: JOSEHeader, beside claims: JWTClaims) -> RuleOutcome
}
