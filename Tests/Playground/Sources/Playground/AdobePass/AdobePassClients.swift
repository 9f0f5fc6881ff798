import PosternSupport

/// The registered clients and their tokens.
final class AdobePassClients: Sendable {
  private static let lifetime = Duration.seconds(31_536_000)

  private let secrets: ExpiringStore<String>
  /// The client of a token.
  private let tokens: ExpiringStore<String>

  /// An empty store.
  init(clock: any EngineClock) {
    secrets = ExpiringStore(clock: clock)
    tokens = ExpiringStore(clock: clock)
  }

  /// Registers a client; nil when there are too many.
  func register() -> (id: String, secret: String)? {
    let (id, secret) = (RandomText.uuid(), RandomText.next())
    return secrets.insert(secret, under: id, for: Self.lifetime) ? (id, secret) : nil
  }

  /// A token for the client of these credentials; nil when there is none.
  func token(_ id: String, _ secret: String, for lifetime: Duration) -> String? {
    guard secrets.value(id) == secret else { return nil }
    let token = RandomText.next()
    return tokens.insert(id, under: token, for: lifetime) ? token : nil
  }

  /// The fault of a token; nil when it is valid.
  func complaint(about token: String?) -> AdobePassError? {
    guard let token, let id = tokens.value(token) else {
      return AdobePassError("access_token_expired", 401, "application-registration")
    }
    guard secrets.value(id) != nil else {
      return AdobePassError("invalid_access_token_client_application", 401, "application-registration")
    }
    return nil
  }

  /// Ends all tokens.
  func endTokens() { tokens.removeAll() }

  /// Forgets all clients; their tokens stay, and are good for nothing.
  func forgetAll() { secrets.removeAll() }
}
