import JOSE
import PosternJSON

/// The token is not a logout token, whose `typ` may be absent, so that only its event tells (Back-Channel Logout 1.0
/// section 2.4, RFC 8725 section 3.12).
struct NotALogoutTokenRule: HeaderRule {
  func outcome(for header: JOSEHeader, beside claims: JWTClaims) -> RuleOutcome {
    .require(
      claims.members["events"]?[LogoutEventRule.memberName] == nil,
      TokenFault(.wrongTokenType, "the token is a logout token", claim: "events"))
  }
}
