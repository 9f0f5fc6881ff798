import AuthEngine
import EngineConfiguration
import PosternConfiguration
import PosternJSON
import PosternProtocol
import PosternSupport
import SidecarAccess
import SidecarEngine
import SidecarObservability

/// Reports the state of every part, and publishes changes of it to subscribers. Sends no requests to find out.
final class HealthReporter: Sendable {
  /// The parts whose state is read for a report, in addition to what the monitor has recorded.
  struct Sources: Sendable {
    let keySets: KeySetStore
    let fileReloads: FileReloadMonitor
    let trail: AuditTrail?
    /// Nil where the process does not report how it protects itself.
    let hardening: HardeningWatch?
    let transportState: (@Sendable () -> TransportState)?
  }

  let monitor: HealthMonitor
  private let sources: Sources
  private let running: RunningConfiguration
  private let demand: ReadinessDemand
  private let announcements: HealthAnnouncements
  private let hub: EventHub
  private let clock: any EngineClock

  init(
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
  func report(for scope: PeerScope = .everything) -> Health.Result {
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
  func wantReadiness() {
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
  func publishChange() {
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
      checks["certificate.\(certificate.section)"] = Health.Check(
        status: certificate.isValid(at: now) ? .ok : .degraded, detail: certificate.detail(at: now))
    }
    checks["hardening"] = sources.hardening?.report.check
    return checks
  }
}
