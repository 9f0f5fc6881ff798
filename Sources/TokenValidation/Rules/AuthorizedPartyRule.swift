import JOSE
import PosternJSON
import PosternSupport

/// `azp`, if present, is the client; where several audiences call for one, it is present (OpenID Connect Core section
/// 3.1.3.7 rules 4 and 5 before, section 2 since errata set 2, which leaves the demand to the client).
struct AuthorizedPartyRule: ClaimRule {
  let clientID: String
  let isRequired: Bool

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let party = context.claims.string("azp") else {
      let isNeeded = isRequired && (context.claims.audiences?.count ?? 0) > 1
      return .require(
        !isNeeded,
        TokenFault(
          .azpMismatch, "azp is missing beside several audiences", claim: "azp", expected: .string(clientID)))
    }
    return .require(
      party.isIdentical(to: clientID),
      TokenFault(
        .azpMismatch, "the token was issued to another client", claim: "azp", expected: .string(clientID),
        actual: .string(party)))
  }
}
