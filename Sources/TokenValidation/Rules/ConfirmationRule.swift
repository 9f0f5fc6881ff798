import JOSE
import PosternJSON
import PosternSupport

/// The key in `cnf` is the one whose possession was shown; a token that is bound to a key is not accepted as a bearer
/// token (RFC 7800 section 3.1, RFC 8705 section 3, RFC 9449 section 6.1).
struct ConfirmationRule: ClaimRule {
  let shown: TokenConfirmation?

  func outcome(in context: RuleContext) -> RuleOutcome {
    let bound = context.claims.members["cnf"]
    guard let shown else {
      return .require(
        bound == nil, TokenFault(.confirmationRequired, "the token is bound to a key", claim: "cnf"))
    }
    let (name, value) = shown.member
    return .require(
      bound?[name]?.stringValue?.isIdentical(to: value) ?? false,
      TokenFault(.confirmationMismatch, "the token is not bound to the key that was shown", claim: "cnf"))
  }
}
