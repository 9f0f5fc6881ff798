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

  /// How long connections that were accepted before the end may take to say what they want.
  private static let welcomeTime = Duration.milliseconds(50)

  /// How long connections may take to close when the time to drain is over: longer than the socket server lingers.
  private static let closingTime = Duration.seconds(3)

  let configurationPath: String
  let socketPath: String?

  /// Returns when the sidecar has been asked to end and has ended.
  func run() async throws {
    ProcessLimits.openStandardDescriptors()
    signal(SIGPIPE, SIG_IGN)
    // A file that may not grow any more is an error of the write, not the end of the process.
    signal(SIGXFSZ, SIG_IGN)
    // From the first moment on, so that a SIGTERM right after the start is a clean end too.
    guard let pipes = ServerSignals.install() else { throw Failure(description: "cannot install signal handlers") }
    ProcessLimits.raiseLockedMemory()
    let inherited: InheritedSocket?
    do {
      inherited = try InheritedSocket.takeFromEnvironment()
    } catch {
      throw Failure(description: error.description)
    }
    let environment = ProcessEnvironment.current
    let path = configurationPath
    let loaded = try ConfigurationLoader().load(path: path, environment: environment)
    let logger = Self.logger(loaded.configuration.log)
    for warning in loaded.warnings { logger.warning("\(warning.description)") }
    let endpoint = try endpoint(loaded.configuration, inherited, environment, logger)
    ProcessLimits.raiseDescriptors()
    ProcessLimits.returnMemory()
    if !loaded.configuration.hardening.coreDumps, !ProcessLimits.forbidDumps() {
      logger.warning("core dumps could not be forbidden")
    }
    let manager = ServiceManager(environment: environment)
    for note in try SidecarService.makeMissingFiles(loaded.configuration) { logger.warning("\(note)") }
    let ownSocket = socketPath ?? loaded.configuration.listen.socketPath(environment: environment)
    let plan = SandboxPlan(
      loaded, configurationPath: path, socketPath: inherited == nil ? ownSocket : nil, environment: environment)
    // The last thing that is done on the only thread.
    let hardening = try ProcessHardening(loaded.configuration.hardening, plan)
    for missing in hardening.report.missing { logger.notice("hardening: \(missing)") }
    let load: @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded = {
      () throws(ConfigurationProblems) in try hardening.reload(path, environment)
    }
    let signals = ServerSignals()
    guard signals.start(pipes) else { throw Failure(description: "cannot start the thread for signals") }

    let replacements = Replacements(logger: logger)
    let transport: CurlTransport
    do {
      var settings = CurlTransport.Configuration()
      settings.fileReport = { replacements.file($0, problem: $1) }
      transport = try CurlTransport(configuration: settings)
    } catch {
      throw Failure(description: "libcurl: \(error)")
    }
    defer { transport.close() }
    let audit = try AuditAssembly.open(loaded.configuration.audit, logger)
    let storage = try StoreRotation(loaded.configuration, replacements, logger).storage
    var surroundings = SidecarService.Surroundings(
      transport: transport, clock: SystemClock(), logger: logger, libraries: Self.libraries, storage: storage,
      loadConfiguration: load)
    surroundings.audit = audit
    let spans = try TelemetryAssembly.exporter(loaded.configuration.telemetry, transport, logger)
    surroundings.spans = spans
    surroundings.replacements = replacements
    surroundings.onReload = { manager.reload($0) }
    let debugger = DebuggerCheck()
    // Without /proc nobody can tell: where the check is on, nothing is fetched.
    surroundings.isTraced = { debugger?.isTraced ?? true }
    surroundings.hardening = { hardening.report }
    let service = try SidecarService(loaded.configuration, surroundings)
    // Before anybody can ask: nothing is known to work yet.
    service.prepareWatch()
    // Before the socket can be connected to: whoever sees it may send SIGHUP.
    signals.onReload {
      audit?.reopen()
      service.requestReload()
    }
    let server: SocketServer
    do {
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

    let status = try await Self.statusListener(
      loaded.configuration.http, service, server, isTakingOver: inherited != nil, logger)
    manager.ready()
    let supervision = Supervision(
      manager: manager, server: server, service: service, transport: transport, logger: logger)
    let supervising = manager.isThere ? Task { await supervision.run() } : nil
    let upkeep = Task { await service.keepSessionsFresh() }
    let tracing = Task { await spans?.run() }
    let watch = Task { await service.watch() }
    await signals.untilEnd()
    upkeep.cancel()
    watch.cancel()
    logger.info("draining")
    manager.stopping()
    await server.stopListening()
    await Self.welcome(service)
    await Self.drain(service, for: loaded.configuration.listen.drain, logger)
    supervising?.cancel()
    await status?.close()
    await server.shutdown()
    await storage.store.close()
    service.finishAudit()
    await audit?.close()
    tracing.cancel()
    await tracing.value
    await spans?.flush(within: TelemetryAssembly.patience)
    logger.info("ended")
  }

  /// Where to listen; the directory is made ready where the configuration says so, before the process gives up what that takes.
  private func endpoint(
    _ configuration: PosternConfiguration, _ inherited: InheritedSocket?, _ environment: [String: String],
    _ logger: Logger
  ) throws(Failure) -> SocketServer.Endpoint {
    if let inherited { return .inherited(inherited) }
    let listen = configuration.listen
    let path = socketPath ?? listen.socketPath(environment: environment)
    let group = listen.group.flatMap(SystemGroups.identifier(of:))
    do throws(SocketServerError) {
      if let mode = listen.directoryMode, try !SocketDirectory.prepare(for: path, mode: mode, group: group) {
        logger.warning("listen.directoryMode: the directory belongs to another user and is left alone")
      }
    } catch {
      throw Failure(description: error.description)
    }
    return .path(path, mode: listen.mode, group: group)
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
  private static func statusListener(
    _ configuration: HTTPConfiguration, _ service: SidecarService, _ server: SocketServer, isTakingOver: Bool,
    _ logger: Logger
  ) async throws(Failure) -> StatusListener? {
    let pages = StatusPages(service: service, server: server)
    do throws(HTTPStatusServer.Failure) {
      return try await StatusListener.start(configuration, pages, isTakingOver: isTakingOver, logger)
    } catch {
      await server.shutdown()
      throw Failure(description: "http.listen: \(error.description)")
    }
  }

  /// Whoever was let in just now has its request on the way: it is answered like any other.
  private static func welcome(_ service: SidecarService) async {
    // The last one may not have been told of yet.
    repeat {
      try? await Task.sleep(for: .milliseconds(5))
    } while service.youngestConnectionAge.map { $0 < welcomeTime } ?? false
  }

  private static func drain(_ service: SidecarService, for time: Duration, _ logger: Logger) async {
    service.drain()
    guard await !ends(service, within: time) else { return }
    let count = service.finish()
    logger.warning("calls were cut off", metadata: ["count": .stringConvertible(count)])
    _ = await ends(service, within: closingTime)
  }

  /// Whether the last connection is gone in time.
  private static func ends(_ service: SidecarService, within time: Duration) async -> Bool {
    let clock = SystemClock()
    let deadline = Deadline(in: time, on: clock)
    while service.connectionCount > 0 {
      guard !deadline.hasPassed(on: clock) else { return false }
      try? await clock.sleep(for: .milliseconds(5))
    }
    return true
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
