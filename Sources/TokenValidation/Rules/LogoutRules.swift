import JOSE
import PosternJSON
import PosternSupport

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

/// The token names the subject or the session that is logged out: `sub`, `sid` or both (Back-Channel Logout 1.0 section
/// 2.4).
struct LogoutTargetRule: ClaimRule {
  func outcome(in context: RuleContext) -> RuleOutcome {
    .require(
      ["sub", "sid"].contains { !(context.claims.string($0) ?? "").isEmpty },
      TokenFault(.subOrSidMissing, "the token names neither a subject nor a session"))
  }
}

/// A token without `exp`, where that is permitted, is valid for a short time after `iat`: as long as one with `exp`
/// should be (Back-Channel Logout 1.0 section 2.4).
struct LogoutAgeRule: ClaimRule {
  static let life = Duration.seconds(120)

  func outcome(in context: RuleContext) -> RuleOutcome {
    context.claims.expiresAt == nil ? IssuedAtRule(maximumAge: Self.life).outcome(in: context) : .met
  }
}

/// There is no `nonce`, so that no logout token passes for an ID token (Back-Channel Logout 1.0 section 2.4).
struct NoNonceRule: ClaimRule {
  func outcome(in context: RuleContext) -> RuleOutcome {
    .require(
      context.claims.members["nonce"] == nil,
      TokenFault(.nonceForbidden, "a logout token must not have a nonce", claim: "nonce"))
  }
}
