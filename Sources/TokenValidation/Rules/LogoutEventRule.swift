import JOSE
import PosternJSON

/// `events` has the member that makes the token a logout token, with an object for its value (Back-Channel Logout 1.0
/// section 2.4).
struct LogoutEventRule: ClaimRule {
  static let memberName = "http://schemas.openid.net/event/backchannel-logout"

  func outcome(in context: RuleContext) -> RuleOutcome {
    .require(
      context.claims.members["events"]?[Self.memberName]?.objectValue != nil,
      TokenFault(.eventsMissing, "the token does not hold the logout event", claim: "events"))
  }
}
