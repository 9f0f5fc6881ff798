import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
public import Support

/// A running playground: a development upstream on loopback. Whoever starts it stops it.
public final class PlaygroundServer: Sendable {
  /// `http://127.0.0.1:PORT`, without a slash at its end.
  public let baseURL: String
  /// The provider's issuer identifier.
  public let issuer: String
  /// The private key, as PEM, of the clients that sign (`private_key_jwt`, assertions).
  public let clientKeyPEM: [UInt8]
  /// The first client's identifier, for the announcement.
  private let clientID: String?
  private let group: MultiThreadedEventLoopGroup
  private let listener: any Channel
  private let connections: OpenConnections
  private let stopping = Locked<Task<Void, Never>?>(nil)

  private init(
    baseURL: String,
    clientID: String?,
    clientKeyPEM: [UInt8],
    group: MultiThreadedEventLoopGroup,
    listener: any Channel,
    connections: OpenConnections
  ) {
    self.baseURL = baseURL
    issuer = baseURL + "/oidc"
    self.clientID = clientID
    self.clientKeyPEM = clientKeyPEM
    self.group = group
    self.listener = listener
    self.connections = connections
  }

  /// Starts a playground; when this returns it can be connected to. `clock` decides about the life of tokens and times slow answers.
  public static func start(
    _ configuration: PlaygroundConfiguration = PlaygroundConfiguration(),
    clock: any EngineClock = SystemClock()
  ) async throws(PlaygroundError) -> PlaygroundServer {
    let keys: SigningKeys
    do {
      keys = try SigningKeys()
    } catch {
      throw .noKeys(reason: "\(error)")
    }
    return try await start(configuration, clock: clock, keys: keys)
  }

  /// As the public `start`, with keys made beforehand.
  static func start(
    _ configuration: PlaygroundConfiguration,
    clock: any EngineClock,
    keys: SigningKeys
  ) async throws(PlaygroundError) -> PlaygroundServer {
    guard configuration.isWithinRange else { throw .lifetimeOutOfRange }
    let (clientKey, clients) = try clientsAndKey(configuration)
    let address = try LoopbackAddress(host: configuration.host, port: configuration.port)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    do {
      let connections = Locked<OpenConnections?>(nil)
      let listener = try await listen(on: address, group: group) { channel in connections.withLock { $0 }?.open(channel)
      }
      let port = listener.localAddress?.port ?? configuration.port
      let baseURL = "http://\(address.urlHost):\(port)"
      let statistics = Statistics()
      let router = PlaygroundRoutes.router(
        baseURL: baseURL, configuration: configuration, keys: keys, clientKey: clientKey, clients: clients,
        statistics: statistics, clock: clock)
      let served = OpenConnections(server: ServerConnection(endpoint: router, statistics: statistics, clock: clock))
      connections.withLock { $0 = served }
      // Bound first, because the port is part of the issuer; accepting begins when there is somebody to answer.
      try await listener.setOption(.autoRead, value: true).get()
      return PlaygroundServer(
        baseURL: baseURL, clientID: configuration.clients.first?.id, clientKeyPEM: clientKey.pem, group: group,
        listener: listener, connections: served)
    } catch {
      try? await group.shutdownGracefully()
      throw .cannotListen(host: configuration.host, port: configuration.port, reason: "\(error)")
    }
  }

  private static func clientsAndKey(
    _ configuration: PlaygroundConfiguration
  ) throws(PlaygroundError) -> (ClientKey, ClientDirectory) {
    do {
      let key = try configuration.clientKeyPEM.map { try ClientKey(pem: $0) } ?? ClientKey()
      return (key, try ClientDirectory(configuration.clients, clientKey: key.key))
    } catch {
      throw .noKeys(reason: "\(error)")
    }
  }

  /// Stops listening and ends all connections; returns when everything is gone. Further calls wait for the same end.
  public func stop() async {
    let task = stopping.withLock { stopping in
      let task = stopping ?? Task { await shutDown() }
      stopping = task
      return task
    }
    await task.value
  }

  private func shutDown() async {
    await listener.close().ended()
    // Connections accepted just before are still on their way to their event loops: let them arrive.
    for loop in group.makeIterator() { await loop.submit {}.ended() }
    await connections.closeAll()
    try? await group.shutdownGracefully()
  }

  /// One line of JSON about where things are: what the `playground` command prints when it is ready.
  public var announcement: String {
    JSONWriter().string([
      "baseUrl": .string(baseURL),
      "issuer": .string(issuer),
      "resource": .string(baseURL + "/resource"),
      "open": .string(baseURL + "/open"),
      "control": .string(baseURL + "/playground"),
      "clientId": clientID.map { .string($0) } ?? .null,
    ])
  }

  /// A listener that does not accept yet, and hands over what it will accept.
  private static func listen(
    on address: LoopbackAddress,
    group: MultiThreadedEventLoopGroup,
    accepted: @escaping @Sendable (ServerConnection.Channel) -> Void
  ) async throws -> any Channel {
    try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.autoRead, value: false)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { accepted(try ServerConnection.configure(channel)) }
      }
      .bind(to: address.socketAddress)
      .get()
  }
}
