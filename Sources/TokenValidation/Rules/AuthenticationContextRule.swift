import JOSE
import PosternJSON
import PosternSupport

/// `acr` is one of the values that were asked for (OpenID Connect Core section 3.1.3.7 rule 12).
struct AuthenticationContextRule: ClaimRule {
  let accepted: [String]

  func outcome(in context: RuleContext) -> RuleOutcome {
    let actual = context.claims.string("acr")
    return .require(
      actual.map(accepted.containsIdentical) ?? false,
      TokenFault(
        .acrMismatch, actual == nil ? "acr is missing" : "acr is none of the accepted values", claim: "acr",
        expected: .array(accepted.map { .string($0) }), actual: actual.map { .string($0) }))
  }
}
