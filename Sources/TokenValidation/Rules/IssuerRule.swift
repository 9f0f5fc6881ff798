import JOSE
import PosternJSON
import PosternSupport

/// `iss` is the issuer, byte by byte (OpenID Connect Core section 3.1.3.7 rule 2; RFC 9068 section 4).
struct IssuerRule: ClaimRule {
  let issuer: String
  var mayBeAbsent = false

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let actual = context.claims.string("iss") else { return .absent("iss", unless: mayBeAbsent) }
    return .require(
      actual.isIdentical(to: issuer),
      TokenFault(
        .issMismatch, "iss is another issuer", claim: "iss", expected: .string(issuer), actual: .string(actual)))
  }
}
