import JOSE
import PosternJSON
import PosternSupport

/// `exp` is in the future, with clock skew (OpenID Connect Core section 3.1.3.7 rule 9; RFC 7519 section 4.1.4).
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

/// `nbf`, if present, is in the past, with clock skew (RFC 7519 section 4.1.5).
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

/// `iat` is not in the future, before `exp`, and not too long ago (OpenID Connect Core section 3.1.3.7 rule 10).
struct IssuedAtRule: ClaimRule {
  var mayBeAbsent = false
  var maximumAge: Duration?

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let issuedAt = context.claims.issuedAt else { return .absent("iat", unless: mayBeAbsent) }
    guard issuedAt <= context.now + context.clockSkew else {
      return .failed(fault(.iatInvalid, "the token was issued in the future", context))
    }
    if let expiresAt = context.claims.expiresAt, expiresAt <= issuedAt {
      return .failed(fault(.iatInvalid, "the token was issued after its expiry", context))
    }
    guard let maximumAge else { return .met }
    return .require(
      issuedAt + maximumAge + context.clockSkew >= context.now,
      fault(.tokenTooOld, "the token was issued too long ago", context))
  }

  private func fault(_ code: TokenFault.Code, _ message: String, _ context: RuleContext) -> TokenFault {
    TokenFault(
      code, message, claim: "iat", expected: .integer(context.now.secondsSinceEpoch),
      actual: context.claims.members["iat"])
  }
}

/// `auth_time` is at most `max_age` ago, with clock skew (OpenID Connect Core sections 2 and 3.1.3.7 rule 13).
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
