import AuthEngine
import Protocol
import Support

/// What the last real use of each part showed. Never calls anybody to find out.
final class HealthBoard: Sendable {
  private struct Observation: Sendable {
    var status: Health.Status
    var detail: String?
    var at: MonotonicInstant
  }

  private struct State {
    var configuration: Observation
    var issuers: [String: Observation?] = [:]
    /// The key sets that have been asked for, by issuer.
    var keySets: [String: Observation] = [:]
    /// The issuers whose clocks differ too much.
    var clocks: [String: Observation] = [:]
    /// The decision points by name; nil: not asked yet.
    var decisionPoints: [String: Observation?] = [:]
    var lastReported = Health.Status.ok
  }

  private let state: Locked<State>
  private let clock: any EngineClock

  init(clock: any EngineClock) {
    self.clock = clock
    state = Locked(State(configuration: Observation(status: .ok, detail: nil, at: clock.monotonicNow)))
  }

  /// A configuration is in force; what is known of issuers that stay is kept.
  func configurationLoaded(issuers: [String], decisionPoints: [String] = []) {
    let now = clock.monotonicNow
    state.withLock { state in
      state.configuration = Observation(status: .ok, detail: nil, at: now)
      state.issuers = Dictionary(uniqueKeysWithValues: issuers.map { ($0, state.issuers[$0] ?? nil) })
      state.decisionPoints = Dictionary(
        uniqueKeysWithValues: decisionPoints.map { ($0, state.decisionPoints[$0] ?? nil) })
      state.keySets = state.keySets.filter { state.issuers[$0.key] != nil }
      state.clocks = state.clocks.filter { state.issuers[$0.key] != nil }
    }
  }

  /// A reload failed; the running configuration stays.
  func configurationFailed() {
    let now = clock.monotonicNow
    let detail = "the configuration file has problems; the configuration before it is in force"
    state.withLock { $0.configuration = Observation(status: .degraded, detail: detail, at: now) }
  }

  /// An issuer was used; nil `fault` means with success.
  func issuer(_ name: String, fault: String?) {
    let observation = Observation(status: fault == nil ? .ok : .degraded, detail: fault, at: clock.monotonicNow)
    state.withLock { state in
      if state.issuers[name] != nil { state.issuers[name] = observation }
    }
  }

  /// A decision point was asked; nil `fault` means that it answered.
  func decisionPoint(_ name: String, fault: String?) {
    let observation = Observation(status: fault == nil ? .ok : .degraded, detail: fault, at: clock.monotonicNow)
    state.withLock { state in
      if state.decisionPoints[name] != nil { state.decisionPoints[name] = observation }
    }
  }

  /// The key set of an issuer was asked for; nil `fault` means that it came.
  func keys(of issuer: String, fault: String?) {
    let observation = Observation(status: fault == nil ? .ok : .degraded, detail: fault, at: clock.monotonicNow)
    state.withLock { state in
      if state.issuers[issuer] != nil { state.keySets[issuer] = observation }
    }
  }

  /// What of a difference between clocks is nobody's business: half of what tokens' times are commonly allowed.
  static let toleratedSkew = Duration.seconds(15)

  /// An issuer's clock was compared with this machine's; true when that is news of a difference.
  func clock(of issuer: String, skew: Duration) -> Bool {
    let isTolerable = skew <= Self.toleratedSkew && skew >= .zero - Self.toleratedSkew
    let seconds = Int64(skew.inSeconds)
    let detail = "its clock is \(abs(seconds)) s \(seconds < 0 ? "behind" : "ahead of") this machine's"
    let observation = Observation(status: .degraded, detail: detail, at: clock.monotonicNow)
    return state.withLock { state in
      guard state.issuers[issuer] != nil else { return false }
      let isNews = !isTolerable && state.clocks[issuer] == nil
      state.clocks[issuer] = isTolerable ? nil : observation
      return isNews
    }
  }

  /// All checks and the worst of them. `keySets` tells how old the issuers' key sets are now, `certificates` whose time may run out.
  func report(
    keySets: [KeySetAge] = [], certificates: [ClientCertificate] = [],
    degradations: [String: DecisionDegradation] = [:],
    others: [String: Health.Check] = [:]
  ) -> Health.Result {
    let now = clock.monotonicNow
    var report = state.withLock { Self.report($0, now) }
    for set in keySets {
      guard let check = report.checks["issuer.\(set.issuer).keys"] else { continue }
      let detail = check.detail ?? (set.isExpired ? "past its lifetime, not asked for since" : "\(set.keyCount) keys")
      report.checks["issuer.\(set.issuer).keys"] = Health.Check(
        status: check.status, detail: detail, ageMs: set.age?.wholeMilliseconds)
    }
    let wallNow = clock.wallNow
    for certificate in certificates {
      report.checks["certificate.\(certificate.owner)"] = Health.Check(
        status: certificate.isValid(at: wallNow) ? .ok : .degraded, detail: certificate.detail(at: wallNow))
    }
    for (name, rule) in degradations where rule.isActive(at: wallNow) {
      report.checks["preauthorization.\(name)"] = Health.Check(
        status: .degraded,
        detail: "not asked: everything is \(rule.isPermit ? "permitted" : "denied") until \(rule.until.rfc3339)")
    }
    report.checks.merge(others) { $1 }
    return Health.Result(status: Self.worst(of: report.checks), checks: report.checks)
  }

  /// The overall status when it differs from the last time this was asked.
  func changedStatus() -> Health.Status? {
    let now = clock.monotonicNow
    return state.withLock { state in
      let status = Self.report(state, now).status
      guard state.lastReported != status else { return nil }
      state.lastReported = status
      return status
    }
  }

  private static func report(_ state: State, _ now: MonotonicInstant) -> Health.Result {
    var checks = ["configuration": check(state.configuration, now)]
    for (name, observation) in state.issuers {
      checks["issuer.\(name)"] =
        observation.map { check($0, now) } ?? Health.Check(status: .ok, detail: "not used yet")
    }
    for (name, observation) in state.decisionPoints {
      checks["preauthorization.\(name)"] =
        observation.map { check($0, now) } ?? Health.Check(status: .ok, detail: "not used yet")
    }
    for (name, observation) in state.keySets { checks["issuer.\(name).keys"] = check(observation, now) }
    for (name, observation) in state.clocks { checks["issuer.\(name).clock"] = check(observation, now) }
    return Health.Result(status: worst(of: checks), checks: checks)
  }

  private static func worst(of checks: [String: Health.Check]) -> Health.Status {
    checks.values.map(\.status).max { severity($0) < severity($1) } ?? .ok
  }

  private static func check(_ observation: Observation, _ now: MonotonicInstant) -> Health.Check {
    Health.Check(
      status: observation.status, detail: observation.detail, ageMs: (now - observation.at).wholeMilliseconds)
  }

  private static func severity(_ status: Health.Status) -> Int {
    switch status {
    case .ok: 0
    case .degraded: 1
    case .down: 2
    }
  }
}
