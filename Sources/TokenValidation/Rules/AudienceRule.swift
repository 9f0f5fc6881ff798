import JOSE
import PosternJSON
import PosternSupport

/// `aud` contains whom the token must be for (OpenID Connect Core section 3.1.3.7 rule 3; RFC 9068 section 4).
struct AudienceRule: ClaimRule {
  let audience: String

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let actual = context.claims.audiences else { return .absent("aud") }
    return .require(
      actual.containsIdentical(audience),
      TokenFault(
        .audMismatch, "the token is for somebody else", claim: "aud", expected: .string(audience),
        actual: .array(actual.map { .string($0) })))
  }
}
