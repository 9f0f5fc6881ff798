public import AuthEngine
import CurlTransport
import Glibc
public import HTTPMessages
public import PosternConfiguration
public import PosternJSON
public import PosternSupport

/// Postern in this process: the sidecar's configuration and engine without its socket.
///
/// ```swift
/// let postern = try await Postern(configuration: "postern.yaml")
/// let response = try await postern.fetch("invoices/7", from: "billing")
/// ```
///
/// Every rule of the configuration holds as in the sidecar, except for what is about its callers and its process
/// (`listen`, `peers`, `limits`, `gateway`, `validation`, `health`, `log`, `http`, `audit`, `telemetry`, `hardening` but
/// for `pinsRequired`), which `warnings` name where they are given: the only caller is this program, and its tokens are
/// in this program's memory. The default of `store.path` is the user's own folder: `$XDG_STATE_HOME/postern`, else
/// `~/.local/state/postern`. Create one for the life of the process: it has the connections and caches. It can be used
/// from any number of tasks.
public final class Postern: Sendable {
  /// The parts that a program may replace, each given once.
  public struct Options: Sendable {
    /// The environment for overrides of the configuration (`POSTERN__…`); nil: this process's.
    public var environment: [String: String]?
    /// The transport of requests; nil: libcurl.
    public var transport: (any HTTPTransport)?
    /// The clock.
    public var clock: any EngineClock = SystemClock()
    /// The storage of sessions; nil: as the configuration has it.
    public var storage: PosternEngine.SessionStorage?
    /// The observers, for metrics and logs.
    public var observers = PosternEngine.Observers()
    /// The product name in requests, as in `shop/1.0`.
    public var userAgent = "postern/\(Release.version)"
    /// The uid that sessions belong to; by default this process's.
    public var uid = PeerID.ownUID

    /// The usual parts.
    public init() {}
  }

  /// The store of sessions.
  public let store: any RecordStore
  let running: RunningEngine
  private let options: Options
  private let read: ConfigurationReading
  private let notes: Locked<[String]>
  private let reloading = Locked(())
  private let ownTransport: CurlTransport?
  /// The store that the configuration names; nil: it is in memory, or the program's.
  private let ownStore: DeferredRecordStore?
  private let proxy = OutboundProxySetting()
  private let refreshing: Task<Void, Never>

  /// Postern by the configuration file at `path`, in YAML or JSON; see `postern check-config`.
  ///
  /// - Throws: `ConfigurationProblems` with everything that is wrong in the file; `StoreError` when sessions are needed
  ///   and their store cannot be opened; `CurlTransport.StartError` without a usable libcurl.
  public convenience init(configuration path: String, options: Options = Options()) async throws {
    try await self.init(
      ConfigurationReading(path: path, text: nil, environment: options.environment ?? ProcessEnvironment.current),
      options)
  }

  /// Postern by a configuration in the program: the same sections and keys as in the file. Relative paths in it begin
  /// at the working directory.
  ///
  /// - Throws: the same errors as for a file.
  public convenience init(configuration: JSONObject, options: Options = Options()) async throws {
    let text = JSONWriter().write(.object(configuration))
    try await self.init(
      ConfigurationReading(
        path: "configuration", text: text, environment: options.environment ?? ProcessEnvironment.current), options)
  }

  private init(_ read: ConfigurationReading, _ options: Options) async throws {
    let loaded = try read()
    let configuration = loaded.configuration
    let values = try ConfiguredEngine(
      configuration, clock: options.clock,
      http2Transport: Self.http2Transport(configuration, options.transport, proxy))
    proxy.replace(by: values.outboundProxy)
    let transport: any HTTPTransport
    if let given = options.transport {
      (transport, ownTransport) = (given, nil)
    } else {
      let own = try CurlTransport(configuration: CurlTransport.Configuration(configuration, proxy))
      (transport, ownTransport) = (own, own)
    }
    let configured =
      options.storage == nil ? try Self.configuredStore(configuration, options.environment) : nil
    let storage = options.storage ?? Self.storage(configuration, configured)
    // Now, and not with the first session.
    if options.storage == nil, StoreAssembly.isNeeded(by: configuration) { try await storage.store.check() }
    let engine = PosternEngine(
      transport: transport, clock: options.clock, userAgent: options.userAgent, storage: storage,
      observers: options.observers)
    let running = RunningEngine(engine, values, uid: options.uid)
    self.running = running
    store = storage.store
    ownStore = configured
    self.options = options
    self.read = read
    notes = Locked(Self.notes(loaded, values))
    refreshing = Task { await engine.sessions.keepFresh { try? running.sessionIssuer($0) } }
  }

  deinit { refreshing.cancel() }

  private static func notes(_ loaded: ConfigurationLoader.Loaded, _ values: ConfiguredEngine) -> [String] {
    let idle = loaded.sidecarKeys
    let note = "\(idle.joined(separator: ", ")): no effect in a library, only in the sidecar"
    return loaded.warnings.map(\.description) + values.notes + (idle.isEmpty ? [] : [note])
  }

  /// The engine below: for what this type has no method for.
  public var engine: PosternEngine { running.engine }

  /// The uid that sessions belong to.
  public var uid: UInt32 { running.uid }

  /// Logins and users' sessions.
  public var sessions: PosternSessions { PosternSessions(running: running) }

  /// Tokens of other kinds than ID tokens.
  public var tokens: PosternTokens { PosternTokens(running: running) }

  /// Authentications by the access manager, and step-up.
  public var journeys: PosternJourneys { PosternJourneys(running: running) }

  /// Warnings about the configuration, for people: secrets in the file, certificates that expire soon, keys that have an
  /// effect in the sidecar only, as `hardening.debuggerCheck` has.
  public var warnings: [String] { notes.withLock { $0 } }

  /// Reads the configuration again. Calls that run end on the one they began with; if the new one has problems, they
  /// are thrown, and the old one stays in force. Changes of `store`, `limits` and `hardening` need a new `Postern`;
  /// `warnings` name them.
  public func reload() throws(ConfigurationProblems) {
    // One after the other, so that the file that was read last is in force.
    try reloading.withLock { (_) throws(ConfigurationProblems) in
      let loaded = try read()
      let before = running.values
      let values = try ConfiguredEngine(
        loaded.configuration, clock: options.clock, after: before,
        http2Transport: Self.http2Transport(loaded.configuration, options.transport, proxy))
      let late = loaded.configuration.keysThatTakeARestart(from: before.configuration).filter {
        ["store", "limits", "hardening"].contains($0)
      }
      proxy.replace(by: values.outboundProxy)
      running.replace(by: values)
      notes.withLock {
        $0 = Self.notes(loaded, values) + late.map { "\($0) has changed: make a new Postern" }
      }
    }
  }

  /// Waits for logins and refreshes under way, five seconds at most, ends every other call, and closes the store and
  /// the connections. Calls after it fail. A transport and a storage of the options stay open: they are the program's.
  ///
  /// A program that exits without it may lose a token that its issuer has just replaced.
  public func close() async {
    refreshing.cancel()
    let patience = Task { [ownTransport] in
      guard (try? await SystemClock().sleep(for: .seconds(5))) != nil, let ownTransport else { return }
      await BlockingCall.run { ownTransport.close() }
    }
    let sessions = running.engine.sessions
    if let ownStore {
      await ownStore.giveUp { await sessions.writeUnsaved() }
    } else {
      await sessions.writeUnsaved()
    }
    patience.cancel()
    await patience.value
    if let ownTransport { await BlockingCall.run { ownTransport.close() } }
    for server in running.values.allServers {
      guard let transport = server.transport as? LazyTransport else { continue }
      await BlockingCall.run { transport.close() }
    }
  }

  private static func configuredStore(
    _ configuration: PosternConfiguration, _ environment: [String: String]?
  ) throws(ConfigurationProblems) -> DeferredRecordStore? {
    let isNeeded = StoreAssembly.isNeeded(by: configuration)
    var store = configuration.store
    if store.kind == .file, store.path == StoreFolder.sidecars {
      guard let own = StoreFolder.own(environment ?? ProcessEnvironment.current) else {
        guard isNeeded else { return nil }
        throw ConfigurationProblems([
          ConfigurationProblem(
            file: "configuration", keyPath: "store.path",
            message: "is needed: the environment has neither XDG_STATE_HOME nor HOME")
        ])
      }
      store.path = own
    }
    let assembly = try StoreAssembly(store, isNeeded: isNeeded)
    guard store.kind == .file, store.path != configuration.store.path else { return assembly.store(report: { _ in }) }
    let opening = assembly.opening(report: { _ in })
    return DeferredRecordStore(clock: SystemClock(), isNeeded: isNeeded) { [path = store.path] () throws(StoreError) in
      StoreFolder.makeParents(of: path)
      return try await opening()
    }
  }

  private static func storage(
    _ configuration: PosternConfiguration, _ store: DeferredRecordStore?
  ) -> PosternEngine.SessionStorage {
    PosternEngine.SessionStorage(
      store ?? MemoryRecordStore(), isShared: configuration.store.kind == .redis,
      maxBytesPerUid: configuration.limits.sessionBytesPerUid)
  }

  /// Transports of their own for resources with HTTP/2, as in the sidecar; a program's own transport carries all.
  private static func http2Transport(
    _ configuration: PosternConfiguration, _ given: (any HTTPTransport)?, _ proxy: OutboundProxySetting
  ) -> ConfiguredEngine.HTTP2Transport? {
    guard given == nil else { return nil }
    var settings = CurlTransport.Configuration(configuration, proxy)
    settings.allowsHTTP2 = true
    return { [settings] _, _ in LazyTransport(settings) { _ in } }
  }
}

extension CurlTransport.Configuration {
  /// The settings of transports through `proxy`.
  fileprivate init(_ configuration: PosternConfiguration, _ proxy: OutboundProxySetting) {
    self.init()
    self.proxy = proxy
    requiresPins = configuration.hardening.pinsRequired
  }
}

/// Where the store is, unless the configuration names another place.
private enum StoreFolder {
  /// The configuration's default, of the sidecar alone: a store belongs to one process at a time.
  static let sidecars = "/var/lib/postern"

  /// The folder of the user whose program this is (XDG Base Directory Specification); nil where the user has none.
  static func own(_ environment: [String: String]) -> String? {
    func folder(_ name: String) -> String? { environment[name].flatMap { $0.startsWithBytes(of: "/") ? $0 : nil } }
    return (folder("XDG_STATE_HOME") ?? folder("HOME").map { "\($0)/.local/state" }).map { "\($0)/postern" }
  }

  /// Makes the folders above `path` that are missing, for the user alone. What cannot be made is found out when the
  /// store is opened.
  static func makeParents(of path: String) {
    for end in path.indices.dropFirst() where path[end] == "/" { mkdir(String(path[..<end]), 0o700) }
  }
}

/// Reads a configuration from where it was read first.
private struct ConfigurationReading: Sendable {
  let path: String
  /// The configuration's text; nil: that of the file.
  let text: [UInt8]?
  let environment: [String: String]

  func callAsFunction() throws(ConfigurationProblems) -> ConfigurationLoader.Loaded {
    try ConfigurationLoader(text: text).load(path: path, environment: environment)
  }
}

/// Blocking work on a thread of its own.
enum BlockingCall {
  /// Runs `body`; without a thread to spare, where the caller runs.
  static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withUnsafeContinuation { continuation in
      do throws(SystemThread.StartError) {
        try SystemThread.start("postern-wait") { continuation.resume(returning: body()) }
      } catch {
        continuation.resume(returning: body())
      }
    }
  }
}

extension Postern: ConciseStringConvertible {}

extension Postern.Options: ConciseStringConvertible {
  /// The product name, and the uid: never the environment.
  public var description: String { Concise.text("options", Concise.name(userAgent), "uid \(uid)") }
}
