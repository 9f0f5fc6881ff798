import AuthEngine
package import Logging
import PosternConfiguration
import PosternObservability
package import PosternSupport

/// Makes the sidecar ready, and keeps it so while no calls come: checks the store, and, from the first request for
/// readiness on, fetches every issuer's key set until there is one, and then before it expires. `HealthReporter`
/// reports the results and sends no requests itself.
package final class ReadinessWatch: Sendable {
  /// How often the store is checked.
  private static let storeInterval = Duration.seconds(3)
  /// How often due issuers and reloads are looked for.
  private static let lookInterval = Duration.milliseconds(500)
  /// How long one attempt to fetch an issuer's key set may take.
  private static let patience = Duration.seconds(15)

  private let running: RunningConfiguration
  private let engine: Engine
  /// The store of the process.
  private let storage: SessionStorage
  /// The store that the engine uses.
  private let watchedStore: WatchedRecordStore
  private let health: HealthReporter
  private let demand: ReadinessDemand
  private let logger: Logger
  private let clock: any EngineClock

  package init(
    _ running: RunningConfiguration, _ engine: Engine, _ storage: SessionStorage, _ watchedStore: WatchedRecordStore,
    _ health: HealthReporter, _ demand: ReadinessDemand, logger: Logger, clock: any EngineClock
  ) {
    self.running = running
    self.engine = engine
    self.storage = storage
    self.watchedStore = watchedStore
    self.health = health
    self.demand = demand
    self.logger = logger
    self.clock = clock
  }

  /// Announces that `run` will be called: until it has found out that a part works, that part counts as down.
  package func prepare() {
    demand.prepare()
    health.watchIssuersOnDemand()
    if storage.deferred?.isNeeded == true { health.monitor.awaitStore() }
  }

  /// Runs until the calling task is cancelled.
  package func run() async {
    await withTaskGroup { group in
      group.addTask { await self.watchIssuers() }
      group.addTask { await self.watchStore() }
    }
  }

  private func watchIssuers() async {
    await demand.wait()
    let schedule = Locked(KeyPrefetchSchedule())
    var seen: ConfigurationSnapshot?
    var wasSettled = false
    while !Task.isCancelled {
      let runtime = running.current
      let isReloaded = seen.map { $0 !== runtime } ?? false
      seen = runtime
      let isEnabled = runtime.configuration.health.askIssuers
      health.monitor.watch(isEnabled)
      // Changes that were not published while parts were checked for the first time.
      let isSettled = health.monitor.isSettled
      if isReloaded || isSettled != wasSettled { health.publishChange() }
      wasSettled = isSettled
      let now = clock.monotonicNow
      let names = isEnabled ? Array(runtime.issuers.keys) : []
      let (due, generation) = schedule.withLock {
        ($0.due(of: names, at: now, isReloaded: isReloaded), $0.generation)
      }
      for name in due {
        Task {
          let hasSucceeded = await fetchKeys(of: name, runtime)
          let now = clock.monotonicNow
          schedule.withLock { $0.ended(name, hasSucceeded: hasSucceeded, at: now, generation: generation) }
        }
      }
      guard (try? await clock.sleep(for: Self.lookInterval)) != nil else { return }
    }
  }

  /// Whether the issuer's key set is there, or the issuer works and needs none.
  private func fetchKeys(of name: String, _ runtime: ConfigurationSnapshot) async -> Bool {
    guard let issuer = runtime.issuers[name] else { return true }
    do throws(KeySetError) {
      _ = try await runtime.values.keys(of: issuer, in: engine.keySets).keySet(
        in: CallScope.process.until(Deadline(in: Self.patience, on: clock)))
      // The set may be older than the issuer's recorded state: kept over a reload, or fetched again after a failure
      // under the configuration before.
      if running.current === runtime, !health.monitor.showsKeys(of: name) {
        health.monitor.keys(of: name, fault: nil)
        health.publishChange()
      }
      return true
    } catch {
      // An authorization server that only issues tokens has no keys to publish, and perhaps no metadata.
      guard !error.isRetryable, error.kind == .discoveryFailed, issuer.issuer.endpoints[.token] != nil,
        issuer.issuer.endpoints[.jwks] == nil
      else { return false }
      health.monitor.publishesNoKeys(name)
      health.publishChange()
      return true
    }
  }

  private func watchStore() async {
    var backoff = Backoff(first: Self.storeInterval * 2, longest: .seconds(30))
    while !Task.isCancelled {
      let isUsable = await checkStore()
      if isUsable { backoff.succeed() }
      let wait = isUsable ? Self.storeInterval : backoff.fail(at: clock.monotonicNow)
      // Only a write shows whether writing works again, and perhaps no call writes. Its outcome is reported.
      if health.monitor.isStoreUnwritable { _ = try? await watchedStore.checkWriting() }
      // Here and not when a write succeeds: where small writes succeed and large ones fail, that alternates with each
      // call.
      if !health.monitor.isStoreUnwritable { await engine.sessions.writeUnsaved() }
      guard (try? await clock.sleep(for: wait)) != nil else { return }
    }
  }

  /// Whether the store can be used, as far as that shows without writing.
  private func checkStore() async -> Bool {
    defer { health.publishChange() }
    do throws(StoreError) {
      try await storage.store.check()
      let isOpen = storage.deferred?.isOpen ?? true
      let isMemory = storage.store is MemoryRecordStore
      health.monitor.store(fault: nil, detail: isMemory ? "memory" : isOpen ? nil : "not needed yet")
      return true
    } catch {
      health.monitor.store(fault: "\(error)")
      return false
    }
  }

  /// Records that a write to the store failed, or works again.
  func storeWritten(fault: StoreError?) {
    guard health.monitor.storeWritten(fault: fault.map { "a write failed: \($0)" }) else { return }
    if let fault { logger.error("the session store cannot be written: \(fault)") }
    health.publishChange()
    // Other failures of the store may be over, too.
    if fault == nil { Task { _ = await checkStore() } }
  }
}

/// Whether a program checks the sidecar's readiness. Without that, the sidecar sends requests to issuers only when a
/// call needs them; with it, before.
package final class ReadinessDemand: Sendable {
  private struct State {
    var isPrepared = false
    var isThere = false
  }

  private let state = Locked(State())
  private let begun = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  package init() {}

  /// Whether a task will `wait`, and readiness was requested.
  var isFollowed: Bool { state.withLock { $0.isPrepared && $0.isThere } }

  /// Announces that a task will `wait`.
  package func prepare() { change { $0.isPrepared = true } }

  /// Records a request for readiness.
  package func show() { change { $0.isThere = true } }

  /// Returns when readiness was requested, or the task is cancelled.
  package func wait() async {
    for await _ in begun.stream { return }
  }

  private func change(_ body: (inout State) -> Void) {
    let begins = state.withLock { state in
      let was = state.isPrepared && state.isThere
      body(&state)
      return !was && state.isPrepared && state.isThere
    }
    if begins { begun.continuation.yield() }
  }
}

/// The schedule of fetches of the issuers' key sets: with a backoff until the first success, then so often that a set
/// is refreshed in time. Without input and output.
package struct KeyPrefetchSchedule: Sendable {
  private struct Entry: Sendable {
    var dueAt: MonotonicInstant
    var backoff = Backoff(first: .seconds(1), longest: KeyPrefetchSchedule.longestPause)
    var isUnderWay = false
  }

  /// How often a set that is there is looked at; it is fetched only when its time has come.
  package static let interval = Duration.seconds(5)
  /// The longest time between two attempts; the first ones follow after 1, 2, 4 … seconds.
  package static let longestPause = Duration.seconds(30)

  private var entries: [String: Entry] = [:]
  /// Counts reloads: results of fetches that started before one are ignored.
  package private(set) var generation = 0

  /// The issuers to fetch from now; each is under way until `ended`. After a reload all are due again.
  package mutating func due(of issuers: some Sequence<String>, at now: MonotonicInstant, isReloaded: Bool) -> [String] {
    if isReloaded {
      entries = [:]
      generation += 1
    }
    var due: [String] = []
    var kept: [String: Entry] = [:]
    for name in issuers {
      var entry = entries[name] ?? Entry(dueAt: now)
      if !entry.isUnderWay, entry.dueAt <= now {
        entry.isUnderWay = true
        due.append(name)
      }
      kept[name] = entry
    }
    entries = kept
    return due.sorted()
  }

  /// Records the result of a fetch that started in `generation`.
  package mutating func ended(_ name: String, hasSucceeded: Bool, at now: MonotonicInstant, generation: Int) {
    guard generation == self.generation, var entry = entries[name] else { return }
    entry.isUnderWay = false
    if hasSucceeded { entry.backoff.succeed() }
    entry.dueAt = now + (hasSucceeded ? Self.interval : entry.backoff.fail(at: now))
    entries[name] = entry
  }
}
