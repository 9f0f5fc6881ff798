/// What a playground is started with.
public struct PlaygroundConfiguration: Sendable {
  /// The address to listen on: a loopback address or `localhost`.
  public var host: String
  /// The port; 0 lets the system choose.
  public var port: Int
  /// How long access tokens live, in whole seconds.
  public var accessTokenLifetime: Duration
  /// The provider's clients.
  public var clients: [PlaygroundClient]

  /// A configuration; everything has a default that suits tests.
  public init(
    host: String = "127.0.0.1",
    port: Int = 0,
    accessTokenLifetime: Duration = .seconds(60),
    clients: [PlaygroundClient] = PlaygroundClient.defaults
  ) {
    self.host = host
    self.port = port
    self.accessTokenLifetime = accessTokenLifetime
    self.clients = clients
  }
}
