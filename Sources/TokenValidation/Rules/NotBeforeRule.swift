import JOSE
import PosternJSON
import PosternSupport

/// `nbf`, if present, is past, skew granted (RFC 7519 section 4.1.5).
struct NotBeforeRule: ClaimRule {
  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let notBefore = context.claims.notBefore else { return .met }
    return .require(
      notBefore <= context.now + context.clockSkew,
      TokenFault(
        .tokenNotYetValid, "the token is not valid yet", claim: "nbf",
        expected: .integer(context.now.secondsSinceEpoch), actual: context.claims.members["nbf"]))
  }
}
