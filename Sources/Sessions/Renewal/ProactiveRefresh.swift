import OAuthClient
import PosternSupport
import SessionRecords

/// When a token that is still good is renewed behind its user's back: between 75 % and 88 % of its life, at another
/// point for each session, so that sessions that began together do not renew together.
enum ProactiveRefresh {
  /// Of tokens and sessions of a shorter life nothing is done before somebody needs it.
  private static let shortestLife = Duration.seconds(10)
  /// How long before its end a session is announced, or a tenth of its life.
  private static let longestNotice = Duration.seconds(300)

  /// From when on the token is renewed; nil when it is not.
  static func instant(of token: AccessToken, of handle: SessionHandle) -> MonotonicInstant? {
    guard let lifetime = token.lifetime, lifetime >= shortestLife else { return nil }
    let share = Int(handle.key.id.first ?? 0) % 14
    return token.expiry + (.zero - lifetime * (12 + share) / 100)
  }

  /// How long before its end the owner of a session of that life hears of it; nil when not at all.
  static func notice(ofLife life: Duration) -> Duration? {
    life >= shortestLife ? min(longestNotice, life / 10) : nil
  }
}
