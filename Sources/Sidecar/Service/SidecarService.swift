import AuthEngine
import HTTPMessages
import Logging
package import PosternConfiguration
import PosternJSON
package import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// The sidecar without its socket: opens connections, drains, and gives `postern` its parts: calls, health, metrics,
/// reload, and the tasks that run meanwhile.
package final class SidecarService: Sendable {
  let calls: CallEnvironment
  let hub: EventHub
  let running: RunningConfiguration
  let engine: Engine
  let health: HealthReporter
  let callersLog: BoundedLog
  private let readinessWatch: ReadinessWatch
  private let reloader: ConfigurationReloader
  private let exposition: MetricsExposition
  let lifetime: ConnectionLifetime

  /// A service on `configuration`.
  package init(_ configuration: PosternConfiguration, _ dependencies: Dependencies) throws(ConfigurationProblems) {
    let clock = dependencies.clock
    let logger = dependencies.logger
    let startedAt = clock.wallNow
    let metrics = MetricsRegistry(startedAt: startedAt)
    let changes = HealthSignal()
    let monitor = HealthMonitor(clock: clock)
    hub = EventHub(clock: clock)
    callersLog = BoundedLog(logger, clock: clock)
    let trail = dependencies.audit.map { log in
      AuditTrail(log: log, subjects: configuration.audit?.subjects ?? .plain, clock: clock)
    }
    let writes = StoreWrites()
    let watchedStore = WatchedRecordStore(store: dependencies.storage.store, report: writes.report)
    var storage = Engine.SessionStorage(watchedStore, isShared: dependencies.storage.isShared)
    storage.maxBytesPerUid = configuration.limits.sessionBytesPerUid
    let observer = ServiceObserver(
      metrics: metrics, health: monitor, changes: changes, hub: hub, logger: logger, log: callersLog, trail: trail)
    var observers = Engine.Observers()
    observers.engine = observer
    observers.keySets = observer
    observers.sessions = observer
    engine = Engine(
      transport: dependencies.transports.common, clock: clock, userAgent: "postern/\(Product.version)",
      storage: storage, observers: observers)
    let identity = ProcessIdentity(
      startedAt: startedAt, libraries: dependencies.process.libraries, unmapped: dependencies.process.unmapped)
    let snapshot = try ConfigurationSnapshot(
      configuration, identity, clock: clock, replacements: dependencies.replacements,
      http2Transport: dependencies.transports.makeHTTP2)
    dependencies.transports.proxy.replace(by: snapshot.values.outboundProxy)
    running = RunningConfiguration(snapshot, hub: hub)

    let hardening = HardeningWatch(clock: clock, look: dependencies.process.hardening ?? { HardeningReport() })
    let demand = ReadinessDemand()
    health = HealthReporter(
      monitor,
      HealthReporter.Sources(
        keySets: engine.keySets, fileReloads: dependencies.replacements, trail: trail,
        hardening: dependencies.process.hardening == nil ? nil : hardening,
        transportState: dependencies.transports.state),
      running, demand, hub: hub, clock: clock)
    readinessWatch = ReadinessWatch(
      running, engine, dependencies.storage, watchedStore, health, demand, logger: logger, clock: clock)
    let callLimiter = ConcurrencyLimiter(snapshot.callLimits, clock: clock)
    reloader = ConfigurationReloader(
      dependencies, identity, running, engine, callLimiter, health, metrics, callersLog, hub: hub)
    let suspended = SuspendedFetches(clock: clock)
    let approval = ApprovalStep(clock: clock, trail: trail)
    let endpoints = EndpointRegistry(
      clock: clock, hub: hub, approvals: approval, log: ConnectionLog(logger, clock: clock),
      forget: { [cookies = engine.fetcher.cookies] in cookies.forget(levels: $0) })
    exposition = MetricsExposition(
      metrics: metrics, hub: hub, endpoints: endpoints, callLimiter: callLimiter, running: running,
      engine: engine, suspended: suspended,
      trail: trail,
      spans: dependencies.spans, transportState: dependencies.transports.state)

    let pool = FairPool()
    let methods = SidecarMethods(
      engine: engine, health: health, exposition: exposition, reloader: reloader, hardening: hardening,
      suspended: suspended,
      pool: pool, trail: trail, isTraced: dependencies.process.isTraced, clock: clock)
    let fetches = methods.fetching()
    let limiter = PeerRateLimiter(clock: clock)
    calls = CallEnvironment(
      methods: methods.table(fetches), snapshot: { [running] in running.current }, clock: clock, pool: pool,
      rateLimit: RateLimitStep(limiter: limiter, metrics: metrics),
      concurrency: ConcurrencyStep(peers: limiter, limiter: callLimiter, hub: hub, metrics: metrics),
      trace: TraceStep(
        spans: dependencies.spans, sampleRatio: configuration.telemetry.otlp?.sampleRatio ?? 0, clock: clock),
      audit: AuditStep(trail: trail), approval: approval,
      log: CallLog(
        metrics: metrics, logger: logger, logsAccess: configuration.log.access, clock: clock,
        onCallEnd: dependencies.onCallEnd))
    lifetime = ConnectionLifetime(calls, hub, running, fetches, endpoints, pool: pool)

    monitor.configurationLoaded(
      issuers: configuration.issuers.keys.sorted(), decisionPoints: configuration.preauthorization.keys.sorted())
    for note in snapshot.notes { logger.warning("\(note)") }
    dependencies.replacements.onChange { [weak health] in health?.publishChange() }
    changes.onChange { [weak health] in health?.publishChange() }
    writes.onWrite { [weak readinessWatch] fault in readinessWatch?.storeWritten(fault: fault) }
  }

  /// Whether `configuration` can be run on, offline; returns warnings.
  package static func check(_ configuration: PosternConfiguration) throws(ConfigurationProblems) -> [String] {
    let unknown = GetInfo.Libraries(curl: "", openssl: "", jansson: "", swift: "")
    let identity = ProcessIdentity(startedAt: Timestamp(secondsSinceEpoch: 0), libraries: unknown)
    return try ConfigurationSnapshot(configuration, identity, clock: SystemClock(), isTrial: true).notes
  }

  /// Creates missing files that the configuration requires, which a process in a sandbox could not; returns what to log
  /// about that.
  package static func makeMissingFiles(_ configuration: PosternConfiguration) throws(ConfigurationProblems) -> [String]
  {
    try DeviceIdentifier.all(in: configuration, makingMissing: true)
      .sorted { $0.key < $1.key }.compactMap { $0.value.note(of: $0.key) }
  }
}

// MARK: - Connections

extension SidecarService {
  /// The most bytes of a message from a peer without a rule in `peers`: enough for the answer `peer_forbidden`.
  package static let strangersMessageBytes = 64 << 10

  /// The most bytes that a message of `peer` may have, by the current rules; nil: as many as of any peer.
  package func messageBytes(for peer: Peer) -> Int? { isStranger(peer) ? Self.strangersMessageBytes : nil }

  /// Whether no rule of `peers` matches `peer` now.
  package func isStranger(_ peer: Peer) -> Bool { running.current.access.rule(for: peer) == nil }

  /// How many connections are open.
  package var connectionCount: Int { hub.connections.count }

  /// How long the connection that was opened last has been open; nil when none is.
  package var youngestConnectionAge: Duration? {
    hub.connections.map(\.openedAt).max().map { calls.clock.monotonicNow - $0 }
  }

  /// The sockets of children.
  package var endpoints: EndpointRegistry { lifetime.endpoints }

  /// From here on the sockets of endpoints come from `sockets`: called once, before the first connection.
  package func use(_ sockets: any EndpointSockets) { endpoints.use(sockets) }

  /// Opens the JSON-RPC connection of a new socket connection. At an endpoint `peer` is its maker, and `narrowing` the
  /// last level of its chain.
  package func open(
    connection: UInt64, peer: Peer, output: JSONRPCConnection.Output, narrowing: Narrowing? = nil
  ) -> JSONRPCConnection {
    lifetime.open(connection: connection, peer: peer, output: output, narrowing)
  }

  /// Cancels what the connection alone owned, after it was closed.
  package func closed(connection: UInt64, conversation: JSONRPCConnection) {
    lifetime.closed(connection: connection, conversation: conversation)
  }

  /// Logs why a connection was closed that neither side had closed.
  package func connectionBroke(connection: UInt64, of peer: Peer, why reason: String) {
    calls.log.connections.broke(connection, of: peer, why: reason)
  }

  /// Counts a connection of `peer` that was rejected, and returns the answer it reads: an `overloaded` error.
  package func rejection(_ reason: ConnectionRejection, of peer: Peer) -> [UInt8] {
    calls.log.metrics.connectionRejected(reason.rawValue)
    calls.log.connections.rejected(peer, why: reason.rawValue)
    let fault = RPCFault(
      .overloaded, reason.message, outcome: .notSent, isRetryable: true, retryAfter: .seconds(1))
    return JSONWriter().write(["jsonrpc": "2.0", "id": .null, "error": fault.jsonValue])
  }

  /// Accepts no new requests from here on; each connection closes when its pending answers are written.
  package func drain() { lifetime.drain() }

  /// Ends the drain: calls that are still pending are answered `shutting_down` and stopped. Returns their number.
  @discardableResult
  package func finish() -> Int { lifetime.finish() }
}

// MARK: - Health, metrics, reload

extension SidecarService {
  /// All metrics in Prometheus' text format 0.0.4.
  package var metricsText: String { exposition.text() }

  /// Whether this process should get requests, with the health report as JSON; sends no requests to find out. It should
  /// not while it drains, nor while a check is down; it should while one is degraded.
  package var readiness: (isReady: Bool, report: [UInt8]) { readiness(of: health.report()) }

  /// The same, after the checks that are made for the first time, or a second.
  package var settledReadiness: (isReady: Bool, report: [UInt8]) {
    get async { readiness(of: await health.settledReport()) }
  }

  private func readiness(of report: Health.Result) -> (isReady: Bool, report: [UInt8]) {
    let json = (try? JSONValueEncoder().encode(report)) ?? .null
    return (report.status != .down && !lifetime.isDraining, JSONWriter().write(json))
  }

  /// Announces that `watch` will be called: until it has found out that a part works, that part counts as down.
  package func prepareWatch() { readinessWatch.prepare() }

  /// Makes the sidecar ready, and keeps it so, until the calling task is cancelled.
  package func watch() async { await readinessWatch.run() }

  /// Reads the configuration again, on SIGHUP. While another reload is running one more follows it.
  package func requestReload() { reloader.request() }

  /// Reads the configuration again, and replaces the one in force when it is valid as a whole. Returns the keys that
  /// differ. Reloads of a caller, `uid`, are logged at a bounded rate, except for changes.
  package func reload(for uid: UInt32? = nil) throws(ReloadFailure) -> [String] { try reloader.reload(for: uid) }
}

// MARK: - Sessions and audit log

extension SidecarService {
  /// Refreshes sessions' tokens before they expire, until the calling task is cancelled.
  package func keepSessionsFresh() async {
    await engine.sessions.keepFresh { [self] name in
      do throws(SessionError) {
        return try running.current.issuerLookup(engine)(name)
      } catch {
        return nil
      }
    }
  }

  /// Writes the sessions that the store could not write before, as far as it can now.
  package func writeUnsavedSessions() async { await engine.sessions.writeUnsaved() }

  /// Records pending rejections in the audit log, before it is closed.
  package func finishAudit() { calls.audit.trail?.recordPendingRejections() }
}
