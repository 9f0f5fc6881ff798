import PosternSupport

/// The users who are signed on, by their single sign-on tokens.
final class SSOSessions: Sendable {
  /// The cookie's name: no default, so that who does not ask is found out.
  static let cookieName = "playgroundSSO"
  static let lifetime = Duration.seconds(7200)

  private let sessions: ExpiringStore<ProviderSession>

  /// An empty store.
  init(clock: any EngineClock) { sessions = ExpiringStore(clock: clock) }

  /// Signs a user on; nil when there are too many. Tokens look as the vendor's do.
  func begin(_ session: ProviderSession) -> String? {
    let token = "\(RandomText.next()).*AAJTSQACMDE.*"
    return sessions.insert(session, under: token, for: Self.lifetime) ? token : nil
  }

  /// The user who is signed on with the token in the cookie of `request`.
  func session(of request: Request) -> (token: String, session: ProviderSession)? {
    guard let token = request.cookie(Self.cookieName), let session = sessions.value(token) else { return nil }
    return (token, session)
  }

  /// The user who is signed on with that token.
  func session(_ token: String) -> ProviderSession? { sessions.value(token) }

  /// Signs off; false when no user was signed on with that token.
  func end(_ token: String) -> Bool { sessions.take(token) != nil }

  /// Signs off, and returns the user.
  func ended(_ token: String) -> ProviderSession? { sessions.take(token) }

  /// Signs everybody off.
  func endAll() { sessions.removeAll() }
}
