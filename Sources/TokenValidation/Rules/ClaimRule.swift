import JOSE
import PosternSupport

/// One thing that must be true of the claims of a token whose signature has been verified. A value without state, so
/// that it can be asked again at every use of a cached verdict.
protocol ClaimRule: Sendable {
  /// Whether it is true.
  func outcome(in context: RuleContext) -> RuleOutcome
}

/// What claim rules look at.
struct RuleContext: Sendable {
  /// Who signed, which decides the hash of the hash claims.
  struct Signer: Sendable {
    let algorithm: SignatureAlgorithm
    let key: JWK
  }

  let claims: JWTClaims
  /// Nil where the claims did not come in a signed token.
  let signer: Signer?
  let now: Timestamp
  let clockSkew: Duration
}

extension RuleContext {
  /// The first of `rules` that is not met; nil when all are.
  func firstFault(of rules: [any ClaimRule]) -> TokenFault? {
    for rule in rules {
      if case .failed(let fault) = rule.outcome(in: self) { return fault }
    }
    return nil
  }
}
