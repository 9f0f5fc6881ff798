import PosternSupport

/// A user who is logged in at the provider.
struct ProviderSession: Sendable {
  /// The user.
  let user: PlaygroundUser
  /// When and how.
  let authentication: UserAuthentication
}

/// The sessions, found by a cookie.
final class ProviderSessions: Sendable {
  private static let cookieName = "playground_session"
  private static let lifetime = Duration.seconds(8 * 3600)

  private let sessions: ExpiringStore<ProviderSession>

  /// No sessions yet.
  init(clock: any EngineClock) { sessions = ExpiringStore(clock: clock) }

  /// The session whose cookie `request` brings.
  func session(of request: Request) -> ProviderSession? {
    request.cookie(Self.cookieName).flatMap { sessions.value($0) }
  }

  /// Begins a session; the result is the field that sets its cookie.
  func begin(_ session: ProviderSession) throws(OAuthError) -> (String, String) {
    let key = RandomText.next()
    guard sessions.insert(session, under: key, for: Self.lifetime) else { throw .full }
    return ("set-cookie", "\(Self.cookieName)=\(key); Path=/oidc; HttpOnly; SameSite=Lax")
  }

  /// Ends the sessions that `meant` picks.
  func end(where meant: (ProviderSession) -> Bool) {
    for (key, session) in sessions.all where meant(session) { _ = sessions.take(key) }
  }
}
