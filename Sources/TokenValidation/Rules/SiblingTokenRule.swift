import JOSE
import PosternSupport

/// The ID tokens that one hybrid authorization yields speak of the same issuer and subject (OpenID Connect Core section
/// 3.3.3.6).
struct SiblingTokenRule: ClaimRule {
  /// The claims of the other token; nil when it cannot be read.
  let other: JWTClaims?

  func outcome(in context: RuleContext) -> RuleOutcome {
    for name in ["iss", "sub"] {
      guard let mine = context.claims.string(name), let its = other?.string(name), mine.isIdentical(to: its) else {
        return .failed(
          TokenFault(.subMismatch, "the two ID tokens of the authorization differ in \(name)", claim: name))
      }
    }
    return .met
  }
}
