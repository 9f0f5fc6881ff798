import JOSE
import PosternJSON

/// The authorization server says that the token is active (RFC 7662 section 2.2).
struct ActiveRule: ClaimRule {
  func outcome(in context: RuleContext) -> RuleOutcome {
    .require(
      context.claims.members["active"]?.boolValue == true,
      TokenFault(.inactive, "the authorization server says that the token is not active", claim: "active"))
  }
}
