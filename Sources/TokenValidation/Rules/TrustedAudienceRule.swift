import JOSE
import PosternJSON
import PosternSupport

/// Every audience beside the client is a trusted one (OpenID Connect Core section 3.1.3.7 rule 3).
struct TrustedAudienceRule: ClaimRule {
  let clientID: String
  let trusted: [String]

  func outcome(in context: RuleContext) -> RuleOutcome {
    let trusted = IdenticalStrings(trusted)
    let foreign = context.claims.audiences?.first { !$0.isIdentical(to: clientID) && !trusted.contains($0) }
    guard let foreign else { return .met }
    return .failed(
      TokenFault(
        .untrustedAudience, "the token is also for an audience that is not trusted", claim: "aud",
        actual: .string(foreign)))
  }
}
