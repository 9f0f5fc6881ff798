import NIOCore
import NIOHTTP1
import NIOPosix
import PosternJSON
public import PosternSupport

/// A running playground: a development upstream on loopback. The code that starts it stops it.
public final class PlaygroundServer: Sendable {
  /// `http://127.0.0.1:PORT`, without a slash at its end.
  public let baseURL: String
  /// `http://127.0.0.1:PORT` of the server that misbehaves on request.
  public let misbehavingURL: String
  /// The provider's issuer identifier.
  public let issuer: String
  /// The private key, as PEM, of the clients that sign (`private_key_jwt`, assertions).
  public let clientKeyPEM: [UInt8]
  /// The counters of requests.
  let statistics: Statistics
  /// The first client's identifier, for the announcement.
  private let clientID: String?
  private let group: MultiThreadedEventLoopGroup
  private let listener: Listener<HTTPServerRequestPart, HTTPServerResponsePart>
  private let misbehaving: Listener<ByteBuffer, ByteBuffer>
  private let stopping = Locked<Task<Void, Never>?>(nil)

  private init(
    baseURL: String,
    misbehavingURL: String,
    statistics: Statistics,
    clientID: String?,
    clientKeyPEM: [UInt8],
    group: MultiThreadedEventLoopGroup,
    listener: Listener<HTTPServerRequestPart, HTTPServerResponsePart>,
    misbehaving: Listener<ByteBuffer, ByteBuffer>
  ) {
    self.baseURL = baseURL
    self.misbehavingURL = misbehavingURL
    issuer = baseURL + "/oidc"
    self.statistics = statistics
    self.clientID = clientID
    self.clientKeyPEM = clientKeyPEM
    self.group = group
    self.listener = listener
    self.misbehaving = misbehaving
  }

  /// Starts a playground; when this returns it can be connected to. `clock` decides about the life of tokens and times
  /// slow answers.
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
      let listener = try await Listener(on: address, group: group, configure: ServerConnection.configure)
      let loopback = try LoopbackAddress(host: configuration.host, port: 0)
      let misbehaving = try await Listener(on: loopback, group: group, configure: MisbehavingConnection.configure)
      let baseURL = "http://\(address.urlHost):\(listener.port)"
      let statistics = Statistics()
      let router = PlaygroundRoutes.router(
        baseURL: baseURL, configuration: configuration, keys: keys, clientKey: clientKey, clients: clients,
        statistics: statistics, clock: clock)
      let served = ServerConnection(endpoint: router, statistics: statistics, clock: clock)
      let rude = MisbehavingConnection(statistics: statistics, clock: clock)
      try await misbehaving.open { await rude.run($0) }
      try await listener.open { channel in
        statistics.count(\.connections)
        await served.run(channel)
      }
      return PlaygroundServer(
        baseURL: baseURL, misbehavingURL: "http://\(loopback.urlHost):\(misbehaving.port)",
        statistics: statistics, clientID: configuration.clients.first?.id, clientKeyPEM: clientKey.pem, group: group,
        listener: listener, misbehaving: misbehaving)
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
    await listener.close()
    await misbehaving.close()
    // Connections accepted just before are still on their way to their event loops: let them arrive.
    for loop in group.makeIterator() { await loop.submit {}.ended() }
    await listener.closeConnections()
    await misbehaving.closeConnections()
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
      "misbehaving": .string(misbehavingURL),
      "clientId": clientID.map { .string($0) } ?? .null,
    ])
  }
}
