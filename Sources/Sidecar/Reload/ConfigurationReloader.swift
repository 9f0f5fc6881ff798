import AuthEngine
import HTTPMessages
import Logging
package import PosternConfiguration
import PosternObservability
import PosternSupport

/// Reads the configuration again, and replaces the one in force when the new one is valid as a whole.
final class ConfigurationReloader: Sendable {
  private struct State {
    var isBusy = false
    /// Another reload was requested meanwhile.
    var again = false
    /// The problems of the last reload.
    var problems: [String] = []
    /// A retry is scheduled for when there are descriptors.
    var isRetryDue = false
  }

  /// How long after a reload that had no descriptors for its files it is retried.
  private static let retryDelay = Duration.seconds(1)

  private let dependencies: SidecarService.Dependencies
  private let identity: ProcessIdentity
  private let running: RunningConfiguration
  private let engine: Engine
  private let callLimiter: ConcurrencyLimiter
  private let health: HealthReporter
  private let metrics: MetricsRegistry
  private let callersLog: BoundedLog
  private let announcements: ReloadAnnouncements
  private let state = Locked(State())

  private var logger: Logger { dependencies.logger }

  init(
    _ dependencies: SidecarService.Dependencies, _ identity: ProcessIdentity, _ running: RunningConfiguration,
    _ engine: Engine, _ callLimiter: ConcurrencyLimiter, _ health: HealthReporter, _ metrics: MetricsRegistry,
    _ callersLog: BoundedLog,
    hub: EventHub
  ) {
    self.dependencies = dependencies
    self.identity = identity
    self.running = running
    self.engine = engine
    self.callLimiter = callLimiter
    self.health = health
    self.metrics = metrics
    self.callersLog = callersLog
    announcements = ReloadAnnouncements(hub: hub, clock: dependencies.clock)
  }

  /// Reloads on SIGHUP. While another reload is running one more follows it, however many are requested.
  func request() {
    let isFirst = state.withLock { state in
      guard state.isBusy else {
        state.isBusy = true
        return true
      }
      state.again = true
      return false
    }
    if isFirst { _ = reloadUntilDone(for: nil) }
  }

  /// Reloads, and returns the keys that differ. A reload that a caller requests, `uid`, is logged at a bounded rate,
  /// except for changes.
  func reload(for uid: UInt32?) throws(ReloadFailure) -> [String] {
    let isFirst = state.withLock { state in
      defer { state.isBusy = true }
      return !state.isBusy
    }
    guard isFirst else { throw .busy }
    return try reloadUntilDone(for: uid).get()
  }

  /// Returns the outcome of the first reload; requests that came meanwhile wait for no outcome.
  private func reloadUntilDone(for uid: UInt32?) -> Result<[String], ReloadFailure> {
    let outcome = reloadOnce(for: uid)
    while state.withLock({ state in
      defer { state.again = false }
      state.isBusy = state.again
      return state.again
    }) {
      _ = reloadOnce(for: nil)
    }
    return outcome
  }

  private func reloadOnce(for uid: UInt32?) -> Result<[String], ReloadFailure> {
    dependencies.reload.onPhase(.began)
    do throws(ConfigurationProblems) {
      let changed = try replaceConfiguration(for: uid)
      metrics.reloaded("ok")
      dependencies.reload.onPhase(.succeeded)
      return .success(changed)
    } catch {
      // Before the failure shows: descriptors may be there again by then.
      let areDescriptorsOut = dependencies.process.areDescriptorsOut()
      metrics.reloaded("failed")
      health.monitor.configurationFailed()
      health.publishChange()
      let problems = error.problems.map(\.description)
      if let metadata = metadata(of: "configuration not reloaded", for: uid, changes: false, problems) {
        for problem in problems { logger.error("configuration not reloaded: \(problem)", metadata: metadata) }
      }
      dependencies.reload.onPhase(.failed(error.problems.first?.description ?? "the configuration has problems"))
      if areDescriptorsOut { retry() }
      return .failure(.problems(error))
    }
  }

  /// The metadata of the log lines about a reload; nil when there are to be none, because a caller may reload without
  /// end. Always logged are reloads of the operator, changes, and outcomes that differ from the last one.
  private func metadata(
    of text: String, for uid: UInt32?, changes: Bool, _ problems: [String]
  ) -> Logger.Metadata? {
    let isNew = state.withLock { state in
      defer { state.problems = problems }
      return changes || state.problems != problems
    }
    guard let uid, !isNew else { return [:] }
    return callersLog.admit(text, of: uid).map { BoundedLog.metadata([:], $0) }
  }

  /// Reloads again later: files that could not be opened for want of descriptors may be valid.
  private func retry() {
    let isFirst = state.withLock { state in
      defer { state.isRetryDue = true }
      return !state.isRetryDue
    }
    guard isFirst else { return }
    logger.warning("the configuration is read again when there are file descriptors")
    Task { [weak self, clock = dependencies.clock] in
      try? await clock.sleep(for: Self.retryDelay)
      self?.state.withLock { $0.isRetryDue = false }
      self?.request()
    }
  }

  private func replaceConfiguration(for uid: UInt32?) throws(ConfigurationProblems) -> [String] {
    let loaded = try dependencies.reload.load()
    let before = running.current
    let next = try ConfigurationSnapshot(
      loaded.configuration, identity, clock: dependencies.clock, after: before,
      replacements: dependencies.replacements, http2Transport: dependencies.transports.makeHTTP2)
    let useStore = try dependencies.storage.prepare?(loaded.configuration.store)
    let changed = loaded.configuration.changedKeys(from: before.configuration)
    dependencies.transports.proxy.replace(by: next.values.outboundProxy)
    running.replace(with: next)
    callLimiter.use(next.callLimits)
    useStore?()
    // All of them have just been read, and are valid.
    dependencies.replacements.filesAreWell()
    removeOutdated(changed, from: before, to: next)
    health.monitor.configurationLoaded(
      issuers: loaded.configuration.issuers.keys.sorted(),
      decisionPoints: loaded.configuration.preauthorization.keys.sorted(),
      changed: (
        issuers: Set(
          loaded.configuration.issuers.filter { Self.isElsewhere($0.value, before.configuration.issuers[$0.key]) }.keys),
        decisionPoints: Set(next.decisionPoints.filter { before.decisionPoints[$0.key] !== $0.value }.keys)
      ))
    health.publishChange()
    log(loaded, changed, from: before, to: next, for: uid)
    announcements.publish(changed)
    return changed
  }

  private func log(
    _ loaded: ConfigurationLoader.Loaded, _ changed: [String], from before: ConfigurationSnapshot,
    to next: ConfigurationSnapshot, for uid: UInt32?
  ) {
    guard var metadata = metadata(of: "configuration reloaded", for: uid, changes: !changed.isEmpty, []) else { return }
    metadata[.changed] = .string(changed.joined(separator: ", "))
    for warning in loaded.warnings { logger.warning("\(warning.description)") }
    for note in next.notes { logger.warning("\(note)") }
    logger.info("configuration reloaded", metadata: metadata)
    for key in loaded.configuration.keysThatTakeARestart(from: before.configuration) {
      logger.warning("\(key) has changed: what of it is read at start only takes a restart")
    }
  }

  /// Whether the recorded state of an issuer no longer applies: it is another server, or is used in another way.
  private static func isElsewhere(_ issuer: IssuerConfiguration, _ before: IssuerConfiguration?) -> Bool {
    guard let before else { return true }
    return issuer.issuer != before.issuer || issuer.endpoints != before.endpoints || issuer.tls != before.tls
      || issuer.clientID != before.clientID
  }

  /// Removes cached results that depend on parts that are no longer configured; all others stay valid, and cached.
  private func removeOutdated(
    _ changed: [String], from before: ConfigurationSnapshot, to next: ConfigurationSnapshot
  ) {
    if !Set(changed).isDisjoint(with: ["issuers", "validation", "development"]) {
      engine.validators.verdicts.removeAll()
    }
    engine.fetcher.cookies.forgetAll(but: next.cookies)
    for (name, point) in before.decisionPoints where next.decisionPoints[name] !== point {
      var selection = DecisionSelection()
      selection.provider = name
      _ = engine.preauthorizer.forget(selection)
    }
  }
}

/// Why the configuration was not reloaded; the running one stays.
package enum ReloadFailure: Error, Sendable {
  /// The file has problems.
  case problems(ConfigurationProblems)
  /// Another reload is at work.
  case busy
}

/// The phase of a reload, for the service manager.
package enum ReloadPhase: Sendable, Hashable {
  /// The configuration is being read.
  case began
  /// The new configuration is in force.
  case succeeded
  /// The configuration before it stays in force, for this reason.
  case failed(String)
}
