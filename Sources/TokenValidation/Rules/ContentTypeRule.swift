import JOSE
import PosternJSON

/// `cty` is not `JWT`: what is signed here are claims, not one more token (RFC 7519 section 5.2).
struct ContentTypeRule: HeaderRule {
  func outcome(for header: JOSEHeader, beside claims: JWTClaims) -> RuleOutcome {
    .require(
      !header.isNested,
      TokenFault(.wrongTokenType, "cty says that the token holds another token", claim: "cty", actual: "JWT"))
  }
}
