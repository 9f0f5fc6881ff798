import PosternSupport

/// The registered clients and their tokens.
final class AdobePassClients: Sendable {
  private static let lifetime = Duration.seconds(31_536_000)

  /// A registered client.
  private struct Client {
    let secret: String
    /// Whether its software statement is one for this version of the API.
    let mayCall: Bool
  }

  private let clients: ExpiringStore<Client>
  /// The client of a token.
  private let tokens: ExpiringStore<String>

  /// An empty store.
  init(clock: any EngineClock) {
    clients = ExpiringStore(clock: clock)
    tokens = ExpiringStore(clock: clock)
  }

  /// Registers a client; nil when there are too many. `mayCall`: whether its scopes allow it to call the API.
  func register(mayCall: Bool) -> (id: String, secret: String)? {
    let (id, secret) = (RandomText.uuid(), RandomText.next())
    return clients.insert(Client(secret: secret, mayCall: mayCall), under: id, for: Self.lifetime) ? (id, secret) : nil
  }

  /// A token for the client of these credentials; nil when there is none.
  func token(_ id: String, _ secret: String, for lifetime: Duration) -> String? {
    guard clients.value(id)?.secret == secret else { return nil }
    let token = RandomText.next()
    return tokens.insert(id, under: token, for: lifetime) ? token : nil
  }

  /// The client of a token.
  func client(of token: String?) throws(AdobePassError) -> String {
    guard let token, let id = tokens.value(token) else { throw AdobePassError("access_token_expired") }
    guard clients.value(id)?.mayCall == true else {
      throw AdobePassError("invalid_access_token_client_application")
    }
    return id
  }

  /// Ends all tokens.
  func endTokens() { tokens.removeAll() }

  /// Forgets all clients; their tokens stay, and are good for nothing.
  func forgetAll() { clients.removeAll() }
}
