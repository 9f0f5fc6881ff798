package import AuthEngine
import PosternConfiguration
import PosternJSON
import PosternObservability
package import PosternProtocol
package import PosternSupport

/// Reports the state of every part, and publishes changes of it to subscribers. Sends no requests to find out.
package final class HealthReporter: Sendable {
  /// The parts whose state is read for a report, in addition to what the monitor has recorded.
  package struct Sources: Sendable {
    package let keySets: KeySetStore
    let fileReloads: FileReloadMonitor
    let trail: AuditTrail?
    /// Nil where the process does not report how it protects itself.
    package let hardening: HardeningWatch?
    let transportState: (@Sendable () -> TransportState)?

    package init(
      keySets: KeySetStore, fileReloads: FileReloadMonitor, trail: AuditTrail?, hardening: HardeningWatch?,
      transportState: (@Sendable () -> TransportState)?
    ) {
      self.keySets = keySets
      self.fileReloads = fileReloads
      self.trail = trail
      self.hardening = hardening
      self.transportState = transportState
    }
  }

  package let monitor: HealthMonitor
  private let sources: Sources
  private let running: RunningConfiguration
  private let demand: ReadinessDemand
  private let announcements: HealthAnnouncements
  private let hub: EventHub
  private let clock: any EngineClock

  package init(
    _ monitor: HealthMonitor, _ sources: Sources, _ running: RunningConfiguration, _ demand: ReadinessDemand,
    hub: EventHub, clock: any EngineClock
  ) {
    self.monitor = monitor
    self.sources = sources
    self.running = running
    self.demand = demand
    self.hub = hub
    self.clock = clock
    announcements = HealthAnnouncements(clock: clock)
  }

  /// Every check of what `scope` shows, now.
  package func report(for scope: PeerScope = .everything) -> Health.Result {
    let runtime = running.current
    // The checks of files do not show which part of the configuration they belong to.
    let replacements = sources.fileReloads.problems.filter {
      scope.isEverything || !$0.key.startsWithBytes(of: "file.")
    }
    return monitor.report(
      for: scope, keySets: sources.keySets.ages(),
      degradations: runtime.decisionPoints.filter { scope.contains(decisionPoint: $0.key) }
        .compactMapValues(\.settings.degradation),
      others: otherChecks(of: runtime, for: scope), replacements: replacements)
  }

  /// Every check, after the parts that are checked for the first time have been checked: before that the report would
  /// be that everything is down.
  func settledReport(for scope: PeerScope = .everything, by deadline: Deadline = .never) async -> Health.Result {
    wantReadiness()
    while !monitor.isSettled, !deadline.hasPassed(on: clock), (try? await clock.sleep(for: .milliseconds(5))) != nil {}
    // To callers with a part of the configuration, files are not shown.
    if scope.isEverything { running.current.values.checkSecretFiles() }
    return report(for: scope)
  }

  /// Lets `ReadinessWatch` start: a caller requested health or readiness.
  package func wantReadiness() {
    demand.show()
    // Before the report: from now on, a part that has not been checked counts as down.
    watchIssuersOnDemand()
  }

  /// Lets issuers whose keys have not been fetched count as down, if `ReadinessWatch` fetches them.
  func watchIssuersOnDemand() {
    if demand.isFollowed { monitor.watch(running.current.configuration.health.askIssuers) }
  }

  /// Publishes the status to subscribers for whom it has changed, at most once a second in the long run; nothing while
  /// parts are checked for the first time.
  package func publishChange() {
    let wait = announcements.update {
      guard monitor.isSettled else { return nil }
      // The whole is followed without subscribers, too: later subscribers get the changes from then on.
      let scopes = hub.scopes(of: .healthChanged).union([.everything])
      return Dictionary(uniqueKeysWithValues: scopes.map { ($0, report(for: $0).status) })
    } tell: { scope, status in
      hub.publish(.healthChanged, ["status": .string(status.rawValue)]) { $0 == scope }
    }
    guard let wait else { return }
    Task { [weak self, clock] in
      try? await clock.sleep(for: wait)
      self?.announcements.resume()
      self?.publishChange()
    }
  }

  private func otherChecks(of runtime: ConfigurationSnapshot, for scope: PeerScope) -> [String: Health.Check] {
    let resources = runtime.configuration.resources
    var checks =
      sources.transportState?().checks { scope.contains(resource: $0) && resources[$0]?.http2 == true } ?? [:]
    checks["audit"] = sources.trail?.check
    let now = clock.wallNow
    for certificate in runtime.certificates where scope.contains(certificateOf: certificate.section) {
      checks["certificate.\(certificate.name)"] = Health.Check(
        status: certificate.isValid(at: now) ? .ok : .degraded, detail: certificate.detail(at: now))
    }
    for (name, issuer) in runtime.issuers where scope.contains(issuer: name) {
      guard let trouble = issuer.issuer.credentialTrouble else { continue }
      checks["issuer.\(name)"] = Health.Check(status: .degraded, detail: trouble)
    }
    checks["hardening"] = sources.hardening?.report.check
    return checks
  }
}

/// The status that was published last, for each scope, and the limit of publications (`AnnouncementLimit`).
package final class HealthAnnouncements: Sendable {
  private struct State {
    /// The status by scope; without an entry `ok`.
    var published: [PeerScope: Health.Status] = [:]
    var limit: AnnouncementLimit
  }

  private let clock: any EngineClock
  private let state: Locked<State>

  package init(clock: any EngineClock) {
    self.clock = clock
    state = Locked(State(limit: AnnouncementLimit(at: clock.monotonicNow)))
  }

  /// Publishes statuses that differ from the published ones with `tell`. `look` returns the current statuses, and none
  /// while they are about to be known. Returns how long to wait before `resume` when it is too early; later changes are
  /// published then. Updates are serial: an older status must not follow a newer one.
  package func update(
    _ look: () -> [PeerScope: Health.Status]?, tell: (PeerScope, Health.Status) -> Void
  ) -> Duration? {
    state.withLock { state in
      guard !state.limit.isDelayed, let statuses = look() else { return nil }
      let changes = statuses.filter { $0.value != state.published[$0.key] ?? .ok }
      if !changes.isEmpty, let wait = state.limit.take(at: clock.monotonicNow) { return wait }
      for (scope, status) in changes { tell(scope, status) }
      state.published = statuses
      return nil
    }
  }

  /// Ends the delay.
  package func resume() { state.withLock { $0.limit.resume() } }
}

/// Limits how often one event is published: five times at once and once a second in the long run. Later changes are
/// published together, after a delay. Belongs behind the lock of the publisher.
package struct AnnouncementLimit: Sendable {
  private static let rate = RateLimit(perSecond: 1, burst: 5)

  private var bucket: TokenBucket
  /// Whether a publication is delayed.
  private(set) var isDelayed = false

  package init(at now: MonotonicInstant) { bucket = TokenBucket(Self.rate, at: now) }

  /// Counts a publication. When there are too many it is delayed: returns how long to wait before `resume`.
  package mutating func take(at now: MonotonicInstant) -> Duration? {
    let wait = bucket.take(Self.rate, at: now)
    isDelayed = wait != nil
    return wait
  }

  /// Ends the delay.
  package mutating func resume() { isDelayed = false }
}
