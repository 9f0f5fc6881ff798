import AuthEngine
public import HTTPMessages
public import Logging
public import PosternAudit
public import PosternConfiguration
import PosternJSON
public import PosternJSONRPC
import PosternProtocol
public import PosternSupport
public import PosternTelemetry

/// The sidecar without its socket: opens conversations, carries out their calls on the running configuration, reloads,
/// drains.
///
/// The running configuration is one immutable `ConfigurationSnapshot`, exchanged as a whole under its lock; each call keeps the one
/// it began with.
public final class SidecarService: Sendable {
  /// What the service needs from the process around it.
  public struct Dependencies: Sendable {
    /// How HTTP leaves the process.
    public var transport: any HTTPTransport
    /// The clocks.
    public var clock: any EngineClock
    /// The log; its level is that of the configuration at start.
    public var logger: Logger
    /// Versions of the libraries, for `getInfo`.
    public var libraries: LibraryVersions
    /// Where sessions are kept.
    public var storage: SessionStorage
    /// Where decisions are recorded; nil: nowhere.
    public var audit: AuditLog?
    /// Where spans of sampled calls go; nil: nowhere.
    public var spans: SpanExporter?
    /// Whether a debugger is attached to the process.
    public var isTraced: @Sendable () -> Bool = { false }
    /// What is wrong with files that were replaced.
    public var replacements: FileReloadMonitor
    /// Told how far reloads are.
    public var onReload: @Sendable (ReloadPhase) -> Void = { _ in }
    /// Whether this process has no file descriptor left.
    public var areDescriptorsOut: @Sendable () -> Bool = { FileDescriptors.areOut }
    /// Told of the end of each call, with the bytes of the message it came in.
    public var onCallEnd: @Sendable (Int) -> Void = { _ in }
    /// How the process protects itself, now; nil where nobody can tell.
    public var hardening: (@Sendable () -> HardeningReport)?
    /// The ids of peers that are nobody's own.
    public var unmapped = UnmappedIDs.none
    /// Makes the transport of one of so many resources that have HTTP/2; nil: the common one carries all.
    public var http2Transport: (@Sendable (_ resource: String, _ count: Int) -> any HTTPTransport)?
    /// How transports fare, now; nil where nobody can tell.
    public var transportState: (@Sendable () -> TransportState)?
    /// Reads the configuration again, from where it came.
    public var loadConfiguration: @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded

    /// Dependencies of the given parts.
    public init(
      transport: any HTTPTransport, clock: any EngineClock, logger: Logger, libraries: LibraryVersions,
      storage: SessionStorage,
      loadConfiguration: @escaping @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded
    ) {
      self.transport = transport
      self.clock = clock
      self.logger = logger
      self.libraries = libraries
      self.storage = storage
      replacements = FileReloadMonitor(logger: logger)
      self.loadConfiguration = loadConfiguration
    }
  }

  let clock: any EngineClock
  let logger: Logger
  let metrics = MetricsRegistry()
  let health: HealthMonitor
  let interest = ReadinessDemand()
  let hardening: HardeningWatch
  let hub: EventHub
  let tasks: TaskRegistry
  let lists: ListAnswers
  let stopped: SuspendedFetches
  let ledger: PeerRateLimiter
  let gate: FairGate
  /// For what may take a processor for long.
  let pool = FairPool()
  /// For what calls start beside themselves, in short steps, which would wait for long ones in `pool`.
  let background = FairPool()
  let trail: AuditTrail?
  /// How many of the traces that begin here are sampled.
  let sampleRatio: Double
  /// Whether each call is logged at `info`, with what the access log has of it.
  let logsAccess: Bool
  let startedAt: Timestamp
  /// Set once at the end of `init`, before any call can come.
  var methods: MethodTable { methodTable.withLock { $0 } }

  private let methodTable = Locked(MethodTable())
  private let state: Locked<ConfigurationSnapshot>
  let reloading = Locked(Reloading())
  private let draining = Locked(false)
  let announcements: HealthAnnouncements
  let reloadAnnouncements: ReloadAnnouncements
  private let connectionLog: ConnectionLog
  /// What callers bring about.
  let callersLog: BoundedLog
  let surroundings: Dependencies
  let identity: ProcessIdentity
  let engine: Engine
  /// The store that the engine uses.
  let watchedStore: WatchedRecordStore

  /// A service on `configuration`.
  public init(_ configuration: PosternConfiguration, _ surroundings: Dependencies) throws(ConfigurationProblems) {
    clock = surroundings.clock
    logger = surroundings.logger
    startedAt = clock.wallNow
    hub = EventHub(clock: clock)
    tasks = TaskRegistry(clock: clock)
    lists = ListAnswers(computation: CPUOffload(clock: clock, pool: pool))
    stopped = SuspendedFetches(clock: clock)
    health = HealthMonitor(clock: clock)
    let news = HealthNews()
    ledger = PeerRateLimiter(clock: clock)
    announcements = HealthAnnouncements(clock: clock)
    reloadAnnouncements = ReloadAnnouncements(clock: clock)
    connectionLog = ConnectionLog(surroundings.logger, clock: clock)
    callersLog = BoundedLog(surroundings.logger, clock: clock)
    hardening = HardeningWatch(clock: clock, look: surroundings.hardening ?? { HardeningReport() })
    self.surroundings = surroundings
    sampleRatio = configuration.telemetry.otlp?.sampleRatio ?? 0
    logsAccess = configuration.log.access
    trail = surroundings.audit.map { [clock] log in
      AuditTrail(log: log, subjects: configuration.audit?.subjects ?? .plain, clock: clock)
    }
    let writes = StoreWrites()
    watchedStore = WatchedRecordStore(store: surroundings.storage.store, report: writes.tell)
    engine = Engine(
      transport: surroundings.transport, clock: clock,
      store: SessionStorage(watchedStore, isShared: surroundings.storage.isShared),
      maxOwnerBytes: configuration.limits.sessionBytesPerUid,
      observer: ServiceObserver(
        metrics: metrics, health: health, news: news, hub: hub, logger: logger, log: callersLog, trail: trail))
    identity = ProcessIdentity(startedAt: startedAt, libraries: surroundings.libraries, unmapped: surroundings.unmapped)
    let runtime = try ConfigurationSnapshot(
      configuration, identity, clock: clock, replacements: surroundings.replacements,
      http2Transport: surroundings.http2Transport)
    gate = FairGate(runtime.callLimits, clock: clock)
    state = Locked(runtime)
    hub.use(runtime.access)
    let table = makeMethodTable()
    methodTable.withLock { $0 = table }
    health.configurationLoaded(
      issuers: configuration.issuers.keys.sorted(), decisionPoints: configuration.preauthorization.keys.sorted())
    logNotes(runtime)
    surroundings.replacements.onChange { [weak self] in self?.publishHealthChange() }
    news.onNews { [weak self] in self?.publishHealthChange() }
    writes.onWrite { [weak self] fault in self?.storeWritten(fault: fault) }
  }

  /// Whether `configuration` can be run on, offline; returns what deserves a warning.
  public static func check(_ configuration: PosternConfiguration) throws(ConfigurationProblems) -> [String] {
    let unknown = LibraryVersions(curl: "", openssl: "", jansson: "", swift: "")
    let identity = ProcessIdentity(startedAt: Timestamp(secondsSinceEpoch: 0), libraries: unknown)
    return try ConfigurationSnapshot(configuration, identity, clock: SystemClock(), isTrial: true).notes
  }

  /// Makes the files that a configuration asks for and that are missing, which a process in a sandbox could not;
  /// returns what to say of that.
  public static func makeMissingFiles(_ configuration: PosternConfiguration) throws(ConfigurationProblems) -> [String] {
    try DeviceIdentifier.all(in: configuration, makingMissing: true)
      .sorted { $0.key < $1.key }.compactMap { $0.value.note(of: $0.key) }
  }

  /// The configuration that new calls run on.
  var runtime: ConfigurationSnapshot { state.withLock { $0 } }

  /// From here on new calls run on `next`.
  func use(_ next: ConfigurationSnapshot) {
    state.withLock { $0 = next }
    hub.use(next.access)
  }

  /// How long the conversation that began last has been open; nil when none is.
  public var youngestConnectionAge: Duration? {
    hub.connections.map(\.openedAt).max().map { clock.monotonicNow - $0 }
  }

  /// How many conversations are open.
  public var connectionCount: Int { hub.connections.count }

  /// The most bytes of a message of somebody whom no rule of `peers` names: enough to be told so.
  public static let strangersMessageBytes = 64 << 10

  /// The most bytes that a message of `peer` may have, by the rules of now; nil: as many as anybody's.
  public func messageBytes(for peer: Peer) -> Int? { isStranger(peer) ? Self.strangersMessageBytes : nil }

  /// Whether no rule of `peers` names `peer` now.
  public func isStranger(_ peer: Peer) -> Bool { runtime.access.rule(for: peer) == nil }

  /// Begins the conversation of a new connection.
  public func open(connection: UInt64, peer: Peer, output: JSONRPCConnection.Output) -> JSONRPCConnection {
    if peer.uid == runtime.access.unmapped.uid { connectionLog.cannotTell(peer) }
    let caller = Caller(connection: connection, peer: peer, openedAt: clock.monotonicNow)
    var output = output
    output.longWork = { [pool] in caller.executor(in: pool) }
    let session = JSONRPCConnection(
      limits: runtime.limits, dispatcher: ConnectionDispatcher(caller: caller, service: self), output: output)
    caller.attach(session)
    hub.add(caller)
    metrics.connectionOpened()
    // One that slipped in while the others were told.
    if draining.withLock({ $0 }) { session.drain() }
    return session
  }

  /// The connection is gone: what it alone owned is cancelled.
  public func closed(connection: UInt64, session: JSONRPCConnection) {
    // First: what is cancelled by that sees that its caller is gone.
    hub.remove(connection)?.attach(nil)
    session.close()
  }

  /// Says why a connection was ended that neither side had asked to end.
  public func connectionBroke(connection: UInt64, of peer: Peer, why reason: String) {
    connectionLog.broke(connection, of: peer, why: reason)
  }

  /// Counts a connection turned away, and gives the answer it reads: an `overloaded` error.
  public func refusal(_ reason: ConnectionRefusal) -> [UInt8] {
    metrics.connectionRefused(reason.rawValue)
    let fault = RPCFault(
      .overloaded, reason.message, data: ["retryable": true, "retryAfterMs": 1000, "outcome": "not_sent"])
    return JSONWriter().write(["jsonrpc": "2.0", "id": .null, "error": fault.jsonValue])
  }

  /// Renews sessions' tokens before they expire, until the calling task is cancelled.
  public func keepSessionsFresh() async {
    await engine.sessions.keepFresh { [self] name in
      do throws(SessionError) {
        return try runtime.issuerLookup(engine)(name)
      } catch {
        return nil
      }
    }
  }

  /// Whether it takes no new requests any more.
  var isDraining: Bool { draining.withLock { $0 } }

  /// No new requests from here on; each connection closes when its pending answers are written.
  public func drain() {
    draining.withLock { $0 = true }
    for caller in hub.connections { caller.session?.drain() }
  }

  /// The time to drain is over: what is still pending is answered `shutting_down` and stopped. Returns how many calls
  /// that were.
  @discardableResult
  public func finish() -> Int {
    let sessions = hub.connections.compactMap(\.session)
    let count = sessions.reduce(0) { $0 + $1.inFlightCount }
    for session in sessions { session.finish() }
    return count
  }

  /// Writes the sessions that the store could not take, as far as it takes them now.
  public func writeUnsavedSessions() async { await engine.sessions.writeUnsaved() }

  /// What is not done, and what will not work for long, is said at once, not found out later.
  func logNotes(_ runtime: ConfigurationSnapshot) {
    for note in runtime.notes { logger.warning("\(note)") }
  }
}
