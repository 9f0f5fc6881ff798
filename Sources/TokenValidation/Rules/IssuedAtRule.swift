import JOSE
import PosternJSON
import PosternSupport

/// `iat` is not in the future, lies before `exp`, and is not older than what is accepted (OpenID Connect Core section
/// 3.1.3.7 rule 10).
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
