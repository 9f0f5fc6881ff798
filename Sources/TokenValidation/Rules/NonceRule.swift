import JOSE
import PosternSupport

/// `nonce` is the one that was sent, and is there whenever one was sent or the token came through the browser (OpenID
/// Connect Core sections 3.1.3.7 rule 11, 3.2.2.11, 3.3.2.12).
struct NonceRule: ClaimRule {
  let nonce: String?
  let isRequired: Bool

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard nonce != nil || isRequired else { return .met }
    guard let actual = context.claims.string("nonce") else {
      return .failed(TokenFault(.missingNonce, "nonce is missing", claim: "nonce"))
    }
    // The values stay out of the fault: who reads the log must not learn the nonce of a pending request.
    return .require(
      nonce.map { $0.isIdentical(to: actual) } ?? false,
      TokenFault(
        .nonceMismatch,
        nonce == nil ? "this flow needs the nonce of the request to compare with" : "nonce is another one",
        claim: "nonce"))
  }
}
