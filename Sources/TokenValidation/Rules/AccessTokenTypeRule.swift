import JOSE
import PosternJSON
import PosternSupport

/// `token_type`, if present, is the one the token is used as; names are compared without regard to case (RFC 7662
/// section 2.2, RFC 6749 section 5.1).
struct AccessTokenTypeRule: ClaimRule {
  let tokenType: String?

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let tokenType, let actual = context.claims.string("token_type") else { return .met }
    return .require(
      actual.hasSameASCIILetters(as: tokenType),
      TokenFault(
        .tokenTypeMismatch, "the token is of another type", claim: "token_type", expected: .string(tokenType),
        actual: .string(actual)))
  }
}
