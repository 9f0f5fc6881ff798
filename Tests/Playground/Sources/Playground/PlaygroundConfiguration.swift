/// The configuration of a playground.
public struct PlaygroundConfiguration: Sendable {
  /// The address to listen on: a loopback address or `localhost`.
  public var host: String
  /// The port; 0 lets the system choose.
  public var port: Int
  /// How long access tokens live, in whole seconds.
  public var accessTokenLifetime: Duration
  /// How long ID tokens live, in whole seconds.
  public var idTokenLifetime: Duration
  /// How long a refresh token lives after it was issued.
  public var refreshTokenLifetime: Duration
  /// Whether every use of a refresh token replaces it (RFC 9700 section 4.14.2).
  public var rotatesRefreshTokens: Bool
  /// Whether an answer to an unreplaced refresh token names it again.
  public var repeatsRefreshTokens: Bool
  /// The time during which a replaced refresh token may be presented again without being taken for stolen.
  public var reuseGrace: Duration
  /// The provider's clients.
  public var clients: [PlaygroundClient]
  /// The private key, as PEM, of the clients that need one and have no key set of their own; nil: one is made.
  public var clientKeyPEM: [UInt8]?

  /// A configuration; everything has a default that suits tests.
  public init(
    host: String = "127.0.0.1",
    port: Int = 0,
    accessTokenLifetime: Duration = .seconds(60),
    idTokenLifetime: Duration = .seconds(300),
    refreshTokenLifetime: Duration = .seconds(86_400),
    rotatesRefreshTokens: Bool = true,
    repeatsRefreshTokens: Bool = true,
    reuseGrace: Duration = .zero,
    clients: [PlaygroundClient] = PlaygroundClient.defaults,
    clientKeyPEM: [UInt8]? = nil
  ) {
    self.host = host
    self.port = port
    self.accessTokenLifetime = accessTokenLifetime
    self.idTokenLifetime = idTokenLifetime
    self.refreshTokenLifetime = refreshTokenLifetime
    self.rotatesRefreshTokens = rotatesRefreshTokens
    self.repeatsRefreshTokens = repeatsRefreshTokens
    self.reuseGrace = reuseGrace
    self.clients = clients
    self.clientKeyPEM = clientKeyPEM
  }

  /// Whether every duration is one that can be worked with.
  var isWithinRange: Bool {
    let lifetimes = Duration.seconds(1)...Duration.seconds(31_536_000)
    return [accessTokenLifetime, idTokenLifetime, refreshTokenLifetime].allSatisfy { lifetimes.contains($0) }
      && (Duration.zero...Duration.seconds(86_400)).contains(reuseGrace)
  }
}
