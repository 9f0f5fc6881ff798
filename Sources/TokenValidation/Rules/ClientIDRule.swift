import JOSE
import PosternJSON
import PosternSupport

/// `client_id` is present, and the presenting client where that is known (RFC 9068 section 2.2; RFC 7662 section 2.2).
struct ClientIDRule: ClaimRule {
  let clientID: String?
  var mayBeAbsent = false

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let actual = context.claims.string("client_id") else {
      return .absent("client_id", unless: mayBeAbsent && clientID == nil)
    }
    guard let clientID else { return .met }
    return .require(
      actual.isIdentical(to: clientID),
      TokenFault(
        .clientIDMismatch, "the token was issued to another client", claim: "client_id",
        expected: .string(clientID), actual: .string(actual)))
  }
}
