import Audit
import AuthEngine
import Configuration
import CurlTransport
import Glibc
import JSON
import Logging
import Sidecar
import SocketServer
import StatusServer
import Support
import Telemetry

/// One run of the sidecar, from reading the configuration to the last answer.
struct ServerProcess {
  /// Why it could not run.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// How long pending answers may take after SIGTERM.
  static let drainTime = Duration.seconds(30)

  let configurationPath: String
  let socketPath: String?

  /// Returns when the sidecar has been asked to end and has ended.
  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    // A file that may not grow any more is an error of the write, not the end of the process.
    signal(SIGXFSZ, SIG_IGN)
    // From the first moment on, so that a SIGTERM right after the start is a clean end too.
    let signals = ServerSignals()
    guard signals.start() else { throw Failure(description: "cannot install signal handlers") }
    let inherited: InheritedSocket?
    do {
      inherited = try InheritedSocket.takeFromEnvironment()
    } catch {
      throw Failure(description: error.description)
    }
    let environment = ProcessEnvironment.current
    let path = configurationPath
    let load: @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded = {
      () throws(ConfigurationProblems) in try ConfigurationLoader().load(path: path, environment: environment)
    }
    let loaded = try load()
    let logger = Self.logger(loaded.configuration.log)
    for warning in loaded.warnings { logger.warning("\(warning.description)") }
    ProcessLimits.raiseDescriptors()
    ProcessLimits.returnMemory()
    if !loaded.configuration.hardening.coreDumps, !ProcessLimits.forbidDumps() {
      logger.warning("core dumps could not be forbidden")
    }

    let transport: CurlTransport
    do {
      transport = try CurlTransport()
    } catch {
      throw Failure(description: "libcurl: \(error)")
    }
    defer { transport.close() }
    let audit = try AuditAssembly.open(loaded.configuration.audit, logger)
    let storage = try StoreAssembly(loaded.configuration).storage(logger: logger)
    var surroundings = SidecarService.Surroundings(
      transport: transport, clock: SystemClock(), logger: logger, libraries: Self.libraries, storage: storage,
      loadConfiguration: load)
    surroundings.audit = audit
    let spans = try TelemetryAssembly.exporter(loaded.configuration.telemetry, transport, logger)
    surroundings.spans = spans
    let debugger = DebuggerCheck()
    // Without /proc nobody can tell: where the check is on, nothing is fetched.
    surroundings.isTraced = { debugger?.isTraced ?? true }
    let service = try SidecarService(loaded.configuration, surroundings)
    // Before anybody can ask: nothing is known to work yet.
    service.prepareWatch()
    let manager = ServiceNotification(path: environment["NOTIFY_SOCKET"])

    // Before the socket can be connected to: whoever sees it may send SIGHUP.
    signals.onReload {
      manager.send(.reloading)
      audit?.reopen()
      // What went wrong has been logged; the running configuration stays.
      do throws(ReloadFailure) {
        _ = try service.reload()
        manager.send(.ready(status: "Serving"))
      } catch {
        if case .busy = error { logger.warning("SIGHUP while another reload is at work: send it again") }
        manager.send(.ready(status: "Serving; the last reload failed, the configuration before it is in force"))
      }
    }
    let server: SocketServer
    do {
      let endpoint = try endpoint(loaded.configuration, inherited, environment)
      server = try await SocketServer.start(Self.socketConfiguration(loaded.configuration, endpoint, service)) {
        SocketBridge($0, service)
      }
    } catch {
      throw Failure(description: error.description)
    }
    logger.info(
      "listening",
      metadata: [
        "socket": .string(server.path ?? "inherited"), "version": .string(Product.version),
        "pid": .stringConvertible(getpid()),
      ])

    let status = try await Self.statusServer(loaded.configuration.http, service, server, logger)
    manager.send(.ready(status: "Serving"))
    let upkeep = Task { await service.keepSessionsFresh() }
    let tracing = Task { await spans?.run() }
    let watch = Task { await service.watch() }
    await signals.untilEnd()
    upkeep.cancel()
    watch.cancel()
    logger.info("draining")
    manager.send(.stopping)
    await server.stopListening()
    await Self.drain(service)
    await status?.close()
    await server.shutdown()
    await storage.store.close()
    await audit?.close()
    tracing.cancel()
    await tracing.value
    await spans?.flush(within: TelemetryAssembly.patience)
    logger.info("ended")
  }

  private func endpoint(
    _ configuration: PosternConfiguration, _ inherited: InheritedSocket?, _ environment: [String: String]
  ) throws(SocketServerError) -> SocketServer.Endpoint {
    if let inherited { return .inherited(inherited) }
    let path = socketPath ?? configuration.listen.socketPath(environment: environment)
    return .path(
      path, mode: configuration.listen.mode, group: configuration.listen.group.flatMap(SystemGroups.identifier(of:)))
  }

  private static func socketConfiguration(
    _ configuration: PosternConfiguration, _ endpoint: SocketServer.Endpoint, _ service: SidecarService
  ) -> SocketServer.Configuration {
    var socket = SocketServer.Configuration(endpoint: endpoint)
    socket.messageBytes = configuration.limits.messageBytes
    socket.depth = configuration.limits.depth
    socket.connections = configuration.limits.connections
    socket.connectionsPerUid = configuration.limits.connectionsPerUid
    socket.refusal = { reason in
      switch reason {
      case .connections: service.refusal(.connections)
      case .connectionsPerUid: service.refusal(.connectionsPerUid)
      }
    }
    return socket
  }

  /// Not before the socket: who is told that it is ready may connect.
  private static func statusServer(
    _ configuration: HTTPConfiguration, _ service: SidecarService, _ server: SocketServer, _ logger: Logger
  ) async throws(Failure) -> HTTPStatusServer? {
    guard let address = configuration.listen else { return nil }
    let pages = StatusPages(service: service, server: server)
    do throws(HTTPStatusServer.Failure) {
      let status = try await HTTPStatusServer.start(on: address) { await pages.page($0) }
      logger.info("serving status", metadata: ["port": .stringConvertible(status.port)])
      return status
    } catch {
      await server.shutdown()
      throw Failure(description: "http.listen: \(error.description)")
    }
  }

  private static func drain(_ service: SidecarService) async {
    service.drain()
    let clock = SystemClock()
    let deadline = Deadline(in: drainTime, on: clock)
    while service.connectionCount > 0, !deadline.hasPassed(on: clock) {
      try? await clock.sleep(for: .milliseconds(5))
    }
  }

  private static func logger(_ log: LogConfiguration) -> Logger {
    let level = Logger.Level(rawValue: log.level.rawValue) ?? .info
    let format = LogFormat(rawValue: log.format.rawValue) ?? .json
    return Logger(label: "postern") { PosternLogHandler(label: $0, level: level, format: format) }
  }

  private static var libraries: LibraryVersions {
    let versions = CurlTransport.libraryVersions
    return LibraryVersions(
      curl: versions.curl, openssl: versions.tls.replacingPrefix("OpenSSL/"), jansson: JSONLibrary.version,
      swift: Product.swiftVersion)
  }
}

extension String {
  fileprivate func replacingPrefix(_ prefix: String) -> String {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
  }
}
