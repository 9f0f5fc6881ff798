import JOSE
import PosternJSON
import PosternSupport

/// `auth_time` is at most `max_age` ago, skew granted (OpenID Connect Core sections 2 and 3.1.3.7 rule 13).
struct AuthenticationAgeRule: ClaimRule {
  let maxAge: Duration

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let authenticatedAt = context.claims.authenticatedAt else { return .absent("auth_time") }
    return .require(
      authenticatedAt + maxAge + context.clockSkew >= context.now,
      TokenFault(
        .authTooOld, "the user authenticated too long ago", claim: "auth_time",
        expected: .integer(context.now.secondsSinceEpoch), actual: context.claims.members["auth_time"]))
  }
}
