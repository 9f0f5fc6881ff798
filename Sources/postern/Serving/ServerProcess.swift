import AuthEngine
import CurlTransport
import Glibc
import HTTPMessages
import LocalServer
import Logging
import PosternConfiguration
import PosternJSON
import PosternObservability
import PosternProtocol
import PosternRuntime
import PosternSupport
import Sidecar

/// One run of the sidecar, from reading the configuration to the last answer.
struct ServerProcess {
  /// Why it could not run.
  struct Failure: Error, CustomStringConvertible {
    let description: String
    /// The exit status.
    var status: Int32 = 1
  }

  /// How long connections that were accepted right before the stop may take to send a request.
  private static let gracePeriod = Duration.milliseconds(50)

  /// How long connections may take to close when the time to drain is over: longer than the socket server lingers.
  private static let closingTime = Duration.seconds(3)

  let configurationPath: String
  let socketPath: String?

  /// Runs the sidecar until it is requested to stop and has stopped.
  func run() async throws {
    // The configuration may name any variable; libraries heed only what it does not.
    let environment = ProcessEnvironment.current
    let heeded = LibraryEnvironment.clear()
    ProcessLimits.openStandardDescriptors()
    ProcessLimits.raiseDescriptors()
    // First of all: libraries mostly abort without a message when they cannot get a descriptor.
    let descriptors = try Self.descriptors()
    ServerSignals.ignoreOthers()
    // From the first moment on, so that a SIGTERM right after the start is a clean end too.
    guard let pipes = ServerSignals.install() else { throw Failure(description: "cannot install signal handlers") }
    ProcessLimits.raiseLockedMemory()
    let passed: InheritedSocket.Passed
    do {
      passed = try InheritedSocket.takeFromEnvironment()
    } catch {
      throw Failure(description: error.description)
    }
    let inherited = passed.rpc
    let path = configurationPath
    let loaded = try ConfigurationLoader(methodNames: Product.methodNames)
      .load(path: path, environment: environment)
    if loaded.configuration.outbound.proxy?.auth != .negotiate { LibraryEnvironment.clearKerberos() }
    let logger = Self.logger(loaded.configuration.log)
    for warning in loaded.warnings { logger.warning("\(warning.description)") }
    for variable in heeded { logger.warning("\(variable.message)") }
    let endpoint = try endpoint(loaded.configuration, inherited, environment, logger)
    ProcessLimits.returnMemory()
    if !loaded.configuration.hardening.coreDumps, !ProcessLimits.forbidDumps() {
      logger.warning("core dumps could not be forbidden")
    }
    let manager = SystemdNotifier(environment: environment)
    for note in try SidecarService.makeMissingFiles(loaded.configuration) { logger.warning("\(note)") }
    let ownSocket = socketPath ?? loaded.configuration.listen.socketPath(environment: environment)
    let unmapped = UnmappedIDs.ofThisProcess
    // Under the sandbox no such file can be made.
    let lock = try? inherited == nil ? SocketLock(for: ownSocket) : nil
    if let problem = lock?.file.problem { logger.warning("the socket's path cannot be locked: \(problem)") }
    let gatewayLock = passed.gateway == nil ? GatewayListener.lock(loaded.configuration.gateway) : nil
    let mayMakeSockets = inherited.map { EndpointSocketFiles.canMakeFiles(nextTo: $0.path) } ?? true
    let plan = SandboxPlan(
      loaded, configurationPath: path, socketPath: mayMakeSockets ? inherited?.path ?? ownSocket : nil,
      gatewayPath: passed.gateway == nil ? loaded.configuration.gateway.listen?.path : nil, environment: environment)
    if passed.gateway != nil, loaded.configuration.gateway.listen == nil {
      logger.warning("the socket named gateway (LISTEN_FDNAMES) is not served: there is no gateway.listen")
    }
    // The last thing that is done on the only thread.
    let hardening = try ProcessHardening(loaded.configuration.hardening, plan)
    for missing in hardening.report.missing { logger.notice("hardening: \(missing)") }
    let load: @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded = {
      () throws(ConfigurationProblems) in try hardening.reload(path, environment)
    }
    let signals = ServerSignals()
    guard signals.start(pipes) else { throw Failure(description: "cannot start the thread for signals") }

    let replacements = FileReloadMonitor(logger: logger)
    if loaded.configuration.outbound.proxy?.auth == .negotiate, !CurlTransport.negotiates {
      throw Failure(description: "outbound.proxy.auth: negotiate needs a libcurl with GSS-API, and this one has none")
    }
    let proxy = OutboundProxySetting()
    let transports: UpstreamTransports
    do {
      transports = try UpstreamTransports(
        descriptors, requiresPins: loaded.configuration.hardening.pinsRequired, proxy: proxy,
        replacements: replacements, logger: logger)
    } catch {
      throw Failure(description: "libcurl: \(error)")
    }
    let transport = transports.common
    defer { transport.close() }
    let audit = try AuditAssembly.open(loaded.configuration.audit, logger)
    let storage = try StoreRotation(loaded.configuration, replacements, logger).storage
    var surroundings = SidecarService.Dependencies(
      transport: transport, clock: SystemClock(), logger: logger, libraries: Self.libraries, storage: storage,
      loadConfiguration: load)
    surroundings.audit = audit
    let spans = try TelemetryAssembly.exporter(loaded.configuration.telemetry, transports.collector, logger)
    surroundings.spans = spans
    surroundings.replacements = replacements
    surroundings.transports.proxy = proxy
    surroundings.transports.makeHTTP2 = { transports.makeHTTP2($0, ofOneIn: $1) }
    surroundings.transports.state = { transports.condition }
    let memory = MemoryReturn()
    surroundings.reload.onPhase = { phase in
      switch phase {
      case .began: manager.reloadBegan()
      case .succeeded: manager.reloadEnded(nil)
      case .failed(let reason): manager.reloadEnded(reason)
      }
      // Reading a configuration takes several times the memory of its text.
      if phase != .began { memory.used(bytes: .max) }
    }
    surroundings.onCallEnd = { memory.used(bytes: $0) }
    let debugger = DebuggerCheck()
    // Without /proc a debugger cannot be detected: if the check is on, nothing is fetched.
    surroundings.process.isTraced = { debugger?.isTraced ?? true }
    surroundings.process.hardening = { hardening.report }
    surroundings.process.unmapped = unmapped
    let service = try SidecarService(loaded.configuration, surroundings)
    // Before the first call: nothing is known to work yet.
    service.prepareWatch()
    // Before the socket can be connected to: a program that sees it may send SIGHUP.
    signals.onReload {
      audit?.reopen()
      service.requestReload()
    }
    let shares = DescriptorBudget.shares(
      of: descriptors.connections, wanted: loaded.configuration.limits.connections,
      hasGateway: loaded.configuration.gateway.listen != nil)
    let webMemory = WebMemory(loaded.configuration.limits)
    let web = try await GatewayListener.web(service, webMemory)
    let endpoints = EndpointSocketFiles(service, memory, webMemory, descriptors: shares.endpoints)
    service.use(endpoints)
    let server: SocketServer
    do {
      var socket = Self.socketConfiguration(loaded.configuration, endpoint, shares, service)
      socket.lock = lock
      socket.web = web
      if shares.connections < loaded.configuration.limits.connections {
        logger.warning(
          """
          fewer connections than limits.connections: the limit of open files is \(descriptors.limit); \
          one user may have \(socket.limits.connectionsPerUid)
          """,
          metadata: .of([.connections: .stringConvertible(shares.connections)]))
      }
      server = try await SocketServer.start(socket) { SocketBridge($0, service, memory) }
    } catch {
      throw Failure(description: error.description)
    }
    let gateway: GatewayListener?
    do throws(Failure) {
      gateway = try await GatewayListener.start(
        loaded.configuration, passed.gateway, connections: shares.gateway, lock: gatewayLock, service, webMemory,
        replacements, logger)
      for missing in try hardening.endStart() { logger.notice("hardening: \(missing)") }
      endpoints.start(server, gateway, web, mayMakeFiles: mayMakeSockets)
      if let path = server.path, !EndpointName.fits(nextTo: path) {
        logger.notice(
          "the socket's path is too long for socket files of endpoints next to it, which are left with descriptors")
      }
    } catch {
      await server.shutdown()
      throw error
    }
    logger.info(
      "listening",
      metadata: .of([
        .configuration: .string(path), .socket: .string(server.path ?? "inherited"),
        .version: .string(Product.version), .pid: .stringConvertible(getpid()),
      ]))
    let status = try await Self.statusListener(
      loaded.configuration.http, service, server, isTakingOver: inherited != nil, logger)
    manager.ready()
    let supervision = Supervision(
      manager: manager, server: server, service: service, transport: transport, logger: logger)
    let supervising = manager.isThere ? Task { await supervision.run() } : nil
    let upkeep = Task { await service.keepSessionsFresh() }
    let tracing = Task { await spans?.run() }
    let watch = Task { await service.watch() }
    // Last, so that nothing waits for it.
    ProcessLimits.trimMemory()
    ProcessLimits.releaseCode()
    await signals.untilEnd()
    upkeep.cancel()
    watch.cancel()
    logger.info("draining")
    manager.stopping()
    await server.stopListening()
    let servers = [web, gateway?.server].compactMap(\.self)
    for server in servers { await server.drain() }
    await Self.acceptGracePeriod(service)
    await Self.drain(service, servers, storage, for: loaded.configuration.listen.drain, logger)
    supervising?.cancel()
    await status?.close()
    for server in servers { await server.shutdown() }
    await server.shutdown()
    await storage.store.close()
    service.finishAudit()
    await audit?.close()
    tracing.cancel()
    await tracing.value
    await spans?.flush(within: TelemetryAssembly.patience)
    logger.info("ended")
  }

  /// Shares out the descriptors that this process may have.
  private static func descriptors() throws(Failure) -> DescriptorBudget {
    let (limit, open) = (ProcessLimits.descriptorLimit, ProcessLimits.openDescriptors)
    guard let budget = DescriptorBudget(limit: limit, open: open) else {
      throw Failure(
        description: "the limit of open files (RLIMIT_NOFILE) is \(limit), and \(open) are open already: at least "
          + "\(DescriptorBudget.least + open) are needed (ulimit -n, LimitNOFILE=)",
        status: 78)
    }
    return budget
  }

  /// The socket to listen on; prepares its directory if the configuration requires it, before the process gives up the
  /// rights for that.
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
    _ configuration: PosternConfiguration, _ endpoint: SocketServer.Endpoint, _ shares: DescriptorBudget.Shares,
    _ service: SidecarService
  ) -> SocketServer.Configuration {
    var socket = SocketServer.Configuration(endpoint: endpoint)
    socket.limits.messageBytes = configuration.limits.messageBytes
    socket.limits.depth = configuration.limits.depth
    socket.limits.values = configuration.limits.jsonValues
    socket.limits.connections = shares.connections
    socket.limits.connectionsPerUid = FairShare.scaled(
      configuration.limits.connectionsPerUid, of: configuration.limits.connections, to: shares.connections)
    socket.limits.descriptors = shares.passed
    socket.isStranger = { service.isStranger(Peer($0)) }
    socket.rejection = { reason, peer in
      switch reason {
      case .connections: service.rejection(.connections, of: Peer(peer))
      case .connectionsPerUid: service.rejection(.connectionsPerUid, of: Peer(peer))
      case .connectionsPerEndpoint: service.rejection(.connectionsPerEndpoint, of: Peer(peer))
      case .otherProcess: service.rejection(.otherProcess, of: Peer(peer))
      }
    }
    return socket
  }

  /// Starts the status server, after the socket: a program that learns that the sidecar is ready may connect.
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

  /// Waits for the requests of connections that were accepted just now: they are answered like any other.
  private static func acceptGracePeriod(_ service: SidecarService) async {
    // The last one may not have been reported yet.
    repeat {
      try? await Task.sleep(for: .milliseconds(5))
    } while service.youngestConnectionAge.map { $0 < gracePeriod } ?? false
  }

  private static func drain(
    _ service: SidecarService, _ servers: [GatewayServer], _ storage: SessionStorage, for time: Duration,
    _ logger: Logger
  ) async {
    let end = Deadline(in: time, on: SystemClock())
    service.drain()
    let handOver = StoreHandOver(storage) { await service.writeUnsavedSessions() }
    guard await !ends(service, servers, within: time) else { return await handOver.finish(by: end) }
    let count = service.finish() + servers.reduce(0) { $0 + $1.connectionCount }
    for server in servers { server.endAll() }
    logger.warning("calls were cut off", metadata: .of([.count: .stringConvertible(count)]))
    _ = await ends(service, servers, within: closingTime)
  }

  /// Whether the last connection is gone in time.
  private static func ends(
    _ service: SidecarService, _ servers: [GatewayServer], within time: Duration
  ) async -> Bool {
    let clock = SystemClock()
    let deadline = Deadline(in: time, on: clock)
    while service.connectionCount > 0 || servers.contains(where: { $0.connectionCount > 0 }) {
      guard !deadline.hasPassed(on: clock) else { return false }
      try? await clock.sleep(for: .milliseconds(5))
    }
    return true
  }

  private static func logger(_ log: LogConfiguration) -> Logger {
    Logger(label: "postern") { PosternLogHandler(label: $0, level: log.level, format: log.format) }
  }

  private static var libraries: GetInfo.Libraries {
    let versions = CurlTransport.libraryVersions
    return GetInfo.Libraries(
      curl: versions.curl, openssl: versions.tls.replacingPrefix("OpenSSL/"), jansson: JSONLibrary.version,
      swift: Product.swiftVersion)
  }
}

extension String {
  fileprivate func replacingPrefix(_ prefix: String) -> String {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
  }
}
