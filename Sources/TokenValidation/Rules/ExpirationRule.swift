import JOSE
import PosternJSON
import PosternSupport

/// `exp` is not reached, skew granted (OpenID Connect Core section 3.1.3.7 rule 9; RFC 7519 section 4.1.4).
struct ExpirationRule: ClaimRule {
  var mayBeAbsent = false

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let expiresAt = context.claims.expiresAt else { return .absent("exp", unless: mayBeAbsent) }
    return .require(
      context.now < expiresAt + context.clockSkew,
      TokenFault(
        .tokenExpired, "the token has expired", claim: "exp", expected: .integer(context.now.secondsSinceEpoch),
        actual: context.claims.members["exp"]))
  }
}
