import LocalServer
import Logging
import PosternConfiguration
import PosternObservability
import PosternSupport
import Sidecar
import SidecarGateway

/// The gateway's listener where the configuration wants one.
struct GatewayListener: Sendable {
  let server: GatewayServer
  private let service: SidecarService
  private let memory: WebMemory

  /// The lock of the socket's path; to be made before the process is in its sandbox.
  static func lock(_ configuration: GatewayConfiguration) -> SocketLock? {
    guard let path = configuration.listen?.path else { return nil }
    return try? SocketLock(for: path)
  }

  /// Starts to listen, on the socket that was `inherited` in place of one at the configured path, for so many
  /// `connections`; nil where the configuration wants none. To be called before the start
  /// is over: no socket file can be made later.
  static func start(
    _ configuration: PosternConfiguration, _ inherited: InheritedSocket?, connections: Int, lock: SocketLock?,
    _ service: SidecarService, _ memory: WebMemory, _ replacements: FileReloadMonitor, _ logger: Logger
  ) async throws(ServerProcess.Failure) -> GatewayListener? {
    guard let listen = configuration.gateway.listen else { return nil }
    var options = options(service)
    options.connections = connections
    options.connectionsPerUid = FairShare.scaled(
      configuration.limits.connectionsPerUid, of: configuration.limits.connections, to: connections)
    options.key = key(listen, replacements)
    options.credentialField = { path in
      GatewayRoute.resource(ofPath: path)
        .flatMap { service.snapshot.configuration.resources[$0]?.tokens.credential?.header }
    }
    let server: GatewayServer
    do throws(SocketServerError) {
      let configured = listen.path.map {
        SocketServer.Endpoint.path($0, mode: listen.mode, group: listen.group.flatMap(SystemGroups.identifier(of:)))
      }
      let endpoint = inherited.map { SocketServer.Endpoint.inherited($0) } ?? configured
      let sockets = try GatewaySockets(unix: endpoint, lock: lock, address: listen.address)
      server = try await GatewayServer.start(
        sockets, options, responder: memory.gateway(service, at: .gateway))
    } catch {
      throw ServerProcess.Failure(description: "gateway.listen: \(error.description)")
    }
    var metadata: Logger.Metadata = [:]
    if let path = inherited.map({ $0.path ?? "inherited" }) ?? listen.path { metadata[.socket] = .string(path) }
    if let port = server.port { metadata[.port] = .stringConvertible(port) }
    logger.info("gateway listening", metadata: metadata)
    return GatewayListener(server: server, service: service, memory: memory)
  }

  /// The server of those connections of the JSON-RPC socket that speak HTTP.
  static func web(_ service: SidecarService, _ memory: WebMemory) async throws(ServerProcess.Failure) -> GatewayServer {
    do throws(SocketServerError) {
      return try await GatewayServer.start(
        GatewaySockets(), options(service), responder: memory.gateway(service, at: .rpcSocket))
    } catch {
      throw ServerProcess.Failure(description: "listen: \(error.description)")
    }
  }

  private static func options(_ service: SidecarService) -> GatewayServer.Configuration {
    var options = GatewayServer.Configuration()
    options.isStranger = { service.isStranger(Peer($0)) }
    options.onRejection = { caller, rejection, traceparent in
      var uid: UInt32?
      if case .process(let user, _, _, _) = caller { uid = user }
      return service.forwardingRejected(
        status: rejection.status, reason: rejection.code.reason, detail: rejection.detail, of: uid,
        continuing: traceparent)
    }
    return options
  }

  /// Serves an endpoint over HTTP on `socket` too, which the gateway owns from now on: `maker`'s calls, as far as
  /// `narrowing` leaves them. `accepts`: whether a process may connect. Ends with `server.stopListening(narrowing.id)`.
  func listen(
    on socket: ListeningSocket, for narrowing: Narrowing, of maker: Peer,
    accepts: @escaping @Sendable (PeerCredentials) -> Bool
  ) async throws(SocketServerError) {
    let credentials = PeerCredentials(uid: maker.uid, gid: maker.gid, pid: maker.pid, groups: maker.groups)
    try await server.listen(
      on: socket,
      for: GatewayEndpoint(
        id: narrowing.id, maker: credentials,
        responder: memory.gateway(service, at: .gateway, narrowing),
        accepts: accepts))
  }

  /// The key as its file has it now; the one that was loaded until it can be read.
  private static func key(
    _ listen: GatewayListenConfiguration, _ replacements: FileReloadMonitor
  ) -> @Sendable () -> Secret<String>? {
    guard let key = listen.key else { return { nil } }
    guard case .file(let path) = key.source else { return { key.value } }
    let file = SecretFile(path: path, report: { replacements.file($0, problem: $1) }) {
      $0.reveal().utf8.count >= GatewayListenConfiguration.leastKey
    }
    return { file.current() ?? key.value }
  }
}

/// What all servers of HTTP requests share.
struct WebMemory: Sendable {
  let uploads = KeptUploads()
  let messages: MessageMemory

  init(_ limits: LimitsConfiguration) { messages = MessageMemory(messageBytes: limits.messageBytes) }

  /// Responds to the requests at `site`; `narrowing` is that of the endpoint that they come through.
  func gateway(
    _ service: SidecarService, at site: SidecarGateway.Site, _ narrowing: Narrowing? = nil
  ) -> SidecarGateway {
    SidecarGateway(
      service, clock: SystemClock(), uploads: uploads, messages: messages, at: site, narrowing: narrowing)
  }
}
