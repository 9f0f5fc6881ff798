import GatewayServer
import Logging
import PosternConfiguration
import PosternSupport
import Sidecar
import SidecarAccess
import SidecarGateway
import SidecarObservability
import SocketServer

/// The gateway's listener where the configuration wants one.
struct GatewayListener: Sendable {
  /// How many connections it has at least.
  private static let leastConnections = 16

  let server: GatewayServer

  /// The lock of the socket's path; to be made before the process is in its sandbox.
  static func lock(_ configuration: GatewayConfiguration) -> SocketLock? {
    guard let path = configuration.listen?.path else { return nil }
    return try? SocketLock(for: path)
  }

  /// How many of `connections` are for the gateway: as many as callers may have on the other socket, where there are
  /// enough for both, else a quarter.
  static func share(of connections: Int, _ configuration: PosternConfiguration) -> Int {
    guard configuration.gateway.listen != nil else { return 0 }
    let wanted = configuration.limits.connections
    return connections >= 2 * wanted ? wanted : min(wanted, max(leastConnections, connections / 4))
  }

  /// Starts to listen; nil where the configuration wants none. To be called before the start is over: no socket file
  /// can be made later.
  static func start(
    _ configuration: PosternConfiguration, connections: Int, lock: SocketLock?, _ service: SidecarService,
    _ replacements: FileReloadMonitor, _ logger: Logger
  ) async throws(ServerProcess.Failure) -> GatewayListener? {
    guard let listen = configuration.gateway.listen else { return nil }
    var options = GatewayServer.Configuration()
    options.connections = connections
    options.connectionsPerUid = min(configuration.limits.connectionsPerUid, connections)
    options.key = key(listen, replacements)
    options.isStranger = { service.isStranger(Peer($0)) }
    options.onRejection = { caller, rejection in log(rejection, of: caller, logger) }
    let server: GatewayServer
    do throws(SocketServerError) {
      let endpoint = listen.path.map {
        SocketServer.Endpoint.path($0, mode: listen.mode, group: listen.group.flatMap(SystemGroups.identifier(of:)))
      }
      let sockets = try GatewaySockets(unix: endpoint, lock: lock, address: listen.address)
      server = try await GatewayServer.start(
        sockets, options, responder: SidecarGateway(service, clock: SystemClock()))
    } catch {
      throw ServerProcess.Failure(description: "gateway.listen: \(error.description)")
    }
    var metadata: Logger.Metadata = [:]
    if let path = listen.path { metadata[.socket] = .string(path) }
    if let port = server.port { metadata[.port] = .stringConvertible(port) }
    logger.info("gateway listening", metadata: metadata)
    return GatewayListener(server: server)
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

  private static func log(_ rejection: RequestRejection, of caller: GatewayRequest.Program, _ logger: Logger) {
    var metadata: Logger.Metadata = .of([
      .status: .stringConvertible(rejection.status), .reason: .string(rejection.reason),
      .error: .string(rejection.detail),
    ])
    if case .process(let uid, _, _, let pid) = caller {
      metadata[.uid] = .stringConvertible(uid)
      metadata[.pid] = .stringConvertible(pid)
    }
    logger.debug("gateway: a request was rejected", metadata: metadata)
  }
}
