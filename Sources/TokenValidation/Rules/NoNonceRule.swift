import JOSE
import PosternJSON

/// There is no `nonce`, so that no logout token passes for an ID token (Back-Channel Logout 1.0 section 2.4).
struct NoNonceRule: ClaimRule {
  func outcome(in context: RuleContext) -> RuleOutcome {
    .require(
      context.claims.members["nonce"] == nil,
      TokenFault(.nonceForbidden, "a logout token must not have a nonce", claim: "nonce"))
  }
}
