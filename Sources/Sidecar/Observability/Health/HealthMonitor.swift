package import AuthEngine
package import PosternProtocol
package import PosternSupport

/// Records the result of the last use of each part, and makes the health report of them. Sends no requests.
package final class HealthMonitor: Sendable {
  private struct Observation: Sendable {
    var status: Health.Status
    var detail: String?
    var at: MonotonicInstant
  }

  private struct StoreState: Sendable {
    /// The last check; nil before the first one.
    var checked: Observation?
    /// The last write failed, and none has succeeded since: a check does not show that.
    var failedWrite: Observation?
    /// Whether the first check is about to be made.
    var isAwaited = false
  }

  private struct State {
    var configuration: Observation
    var issuers: [String: Observation?] = [:]
    /// The results of fetching key sets, by issuer.
    var keySets: [String: Observation] = [:]
    /// The issuers that answer and publish no key set, for they need none.
    var keyless: Set<String> = []
    /// When each issuer last gave a token, and whether a later request for one failed.
    var givers: [String: (at: MonotonicInstant, hasFailedSince: Bool)] = [:]
    var store = StoreState()
    /// Until when it is worth waiting for what is about to be known.
    var settlesUntil: MonotonicInstant
    /// Whether every issuer's key set is fetched until there is one.
    var isWatched = false
    /// The issuers whose clocks differ too much.
    var clocks: [String: Observation] = [:]
    /// The decision points by name; nil: not used yet.
    var decisionPoints: [String: Observation?] = [:]

    /// The state without what `scope` hides.
    func within(_ scope: PeerScope) -> State {
      guard !scope.isEverything else { return self }
      var own = self
      own.issuers = issuers.filter { scope.contains(issuer: $0.key) }
      own.keySets = keySets.filter { scope.contains(issuer: $0.key) }
      own.clocks = clocks.filter { scope.contains(issuer: $0.key) }
      own.decisionPoints = decisionPoints.filter { scope.contains(decisionPoint: $0.key) }
      return own
    }
  }

  private let state: Locked<State>
  private let clock: any EngineClock

  package init(clock: any EngineClock) {
    self.clock = clock
    let now = clock.monotonicNow
    state = Locked(State(configuration: Observation(status: .ok, detail: nil, at: now), settlesUntil: now))
  }

  /// A configuration is in force; what is known of the issuers and decision points that stay as they are is kept, and
  /// nothing of those that are `changed`.
  package func configurationLoaded(
    issuers: [String], decisionPoints: [String] = [],
    changed: (issuers: Set<String>, decisionPoints: Set<String>) = ([], [])
  ) {
    let now = clock.monotonicNow
    state.withLock { state in
      state.configuration = Observation(status: .ok, detail: nil, at: now)
      state.settlesUntil = now + Self.settlingTime
      state.issuers = Dictionary(
        uniqueKeysWithValues: issuers.map { ($0, changed.issuers.contains($0) ? nil : state.issuers[$0] ?? nil) })
      state.decisionPoints = Dictionary(
        uniqueKeysWithValues: decisionPoints.map {
          ($0, changed.decisionPoints.contains($0) ? nil : state.decisionPoints[$0] ?? nil)
        })
      let kept = Set(issuers).subtracting(changed.issuers)
      state.keySets = state.keySets.filter { kept.contains($0.key) }
      state.keyless.formIntersection(kept)
      state.givers = state.givers.filter { kept.contains($0.key) }
      state.clocks = state.clocks.filter { kept.contains($0.key) }
    }
  }

  /// A reload failed; the running configuration stays.
  func configurationFailed() {
    let now = clock.monotonicNow
    let detail = "the configuration file has problems; the configuration before it is in force"
    state.withLock { $0.configuration = Observation(status: .degraded, detail: detail, at: now) }
  }

  /// An issuer was used; nil `fault` means with success.
  package func issuer(_ name: String, fault: String?) {
    let observation = Observation(status: fault == nil ? .ok : .degraded, detail: fault, at: clock.monotonicNow)
    state.withLock { state in
      if state.issuers[name] != nil { state.issuers[name] = observation }
    }
  }

  /// Records a token request; nil `fault` means that the issuer returned a token.
  package func token(of name: String, fault: String?) {
    issuer(name, fault: fault)
    let now = clock.monotonicNow
    state.withLock { state in
      if fault != nil {
        state.givers[name]?.hasFailedSince = true
      } else if state.issuers[name] != nil {
        state.givers[name] = (now, false)
      }
    }
  }

  /// Sets whether an issuer without a fetched key set counts as down: `ReadinessWatch` fetches it then until it
  /// succeeds.
  package func watch(_ isWatched: Bool) {
    let now = clock.monotonicNow
    state.withLock { state in
      if isWatched && !state.isWatched { state.settlesUntil = now + Self.settlingTime }
      state.isWatched = isWatched
    }
  }

  /// How long it is worth waiting for what is about to be known.
  static let settlingTime = Duration.seconds(1)

  /// Whether nothing is about to be known: every part has been looked at, or that takes too long.
  var isSettled: Bool {
    let now = clock.monotonicNow
    return state.withLock { state in
      if now >= state.settlesUntil { return true }
      return !state.store.isAwaited
        && (!state.isWatched || state.issuers.keys.allSatisfy { state.keySets[$0] != nil })
    }
  }

  /// The store is going to be looked at: until then it counts as down.
  func awaitStore() {
    let observation = Observation(status: .down, detail: "not looked at yet", at: clock.monotonicNow)
    state.withLock { state in
      state.store.checked = observation
      state.store.isAwaited = true
      state.settlesUntil = observation.at + Self.settlingTime
    }
  }

  /// The store was looked at; nil `fault` means that it can be used.
  package func store(fault: String?, detail: String? = nil) {
    let observation = Observation(status: fault == nil ? .ok : .down, detail: fault ?? detail, at: clock.monotonicNow)
    state.withLock { state in
      state.store.checked = observation
      state.store.isAwaited = false
    }
  }

  /// Something was written into the store; nil `fault` means that it worked. True when that is news.
  func storeWritten(fault: String?) -> Bool {
    let observation = fault.map { Observation(status: .down, detail: $0, at: clock.monotonicNow) }
    return state.withLock { state in
      defer { state.store.failedWrite = observation }
      return (state.store.failedWrite == nil) != (observation == nil)
    }
  }

  /// Whether the last write into the store failed.
  var isStoreUnwritable: Bool { state.withLock { $0.store.failedWrite != nil } }

  /// An issuer answers and publishes no key set, and the configuration needs none of it.
  package func publishesNoKeys(_ issuer: String) {
    let detail = "publishes no key set: its tokens cannot be validated here"
    let observation = Observation(status: .ok, detail: detail, at: clock.monotonicNow)
    state.withLock { state in
      guard state.issuers[issuer] != nil else { return }
      state.keyless.insert(issuer)
      state.keySets[issuer] = observation
    }
  }

  /// Records a request to a decision point; nil `fault` means that it answered.
  package func decisionPoint(_ name: String, fault: String?) {
    let observation = Observation(status: fault == nil ? .ok : .degraded, detail: fault, at: clock.monotonicNow)
    state.withLock { state in
      if state.decisionPoints[name] != nil { state.decisionPoints[name] = observation }
    }
  }

  /// Records a fetch of an issuer's key set; nil `fault` means that it succeeded. With a fault there is an older set,
  /// or none.
  package func keys(of issuer: String, fault: String?, hasOlder: Bool = true) {
    let status: Health.Status = fault == nil ? .ok : hasOlder ? .degraded : .down
    let observation = Observation(status: status, detail: fault, at: clock.monotonicNow)
    state.withLock { state in
      guard state.issuers[issuer] != nil, fault == nil || !state.keyless.contains(issuer) else { return }
      state.keySets[issuer] = observation
      if fault == nil { state.keyless.remove(issuer) }
    }
  }

  /// Whether a key set of the issuer is recorded.
  func showsKeys(of issuer: String) -> Bool {
    state.withLock { state in state.keySets[issuer].map { $0.status != .down } ?? false }
  }

  /// The largest clock skew that is not reported: half of the usual tolerance of token validation.
  package static let toleratedSkew = Duration.seconds(15)

  /// An issuer's clock was compared with this machine's; true when that is news of a difference.
  package func clock(of issuer: String, skew: Duration) -> Bool {
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

  /// The checks of what `scope` shows, and the worst of them. `keySets` has the ages of the issuers' key sets.
  package func report(
    for scope: PeerScope = .everything, keySets: [KeySetAge] = [],
    degradations: [String: DecisionDegradation] = [:],
    others: [String: Health.Check] = [:],
    replacements: [String: String] = [:]
  ) -> Health.Result {
    let now = clock.monotonicNow
    let state = state.withLock { $0 }.within(scope)
    var (report, isDown) = (Self.report(state, now), Self.isDown(state, now))
    Self.add(replacements, to: &report.checks)
    for set in keySets {
      guard let check = report.checks["issuer.\(set.issuer).keys"] else { continue }
      let detail = check.detail ?? (set.isExpired ? "expired, not fetched since" : "\(set.keyCount) keys")
      report.checks["issuer.\(set.issuer).keys"] = Health.Check(
        status: check.status, detail: detail, ageMs: set.age?.wholeMilliseconds)
    }
    let wallNow = clock.wallNow
    for (name, rule) in degradations where rule.isActive(at: wallNow) {
      report.checks["preauthorization.\(name)"] = Health.Check(
        status: .degraded,
        detail: "no requests: everything is \(rule.isPermit ? "permitted" : "denied") until \(rule.until.rfc3339)")
    }
    report.checks.merge(others) { $1 }
    // A part that is down there has no replacement.
    isDown = isDown || others.values.contains { $0.status == .down }
    return Health.Result(status: Self.overall(report.checks, isDown: isDown), checks: report.checks)
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
    if let store = state.store.failedWrite ?? state.store.checked { checks["store"] = check(store, now) }
    for name in state.issuers.keys where state.isWatched && state.keySets[name] == nil {
      checks["issuer.\(name).keys"] = Health.Check(status: .down, detail: "not fetched yet")
    }
    for (name, observation) in state.keySets { checks["issuer.\(name).keys"] = check(observation, now) }
    for (name, observation) in state.clocks { checks["issuer.\(name).clock"] = check(observation, now) }
    return Health.Result(status: overall(checks, isDown: isDown(state, now)), checks: checks)
  }

  /// Whether nothing can work: the store is lost, or no issuer at all can be used.
  private static func isDown(_ state: State, _ now: MonotonicInstant) -> Bool {
    if state.store.checked?.status == .down || state.store.failedWrite != nil { return true }
    return !state.issuers.isEmpty && state.issuers.keys.allSatisfy { !isUsable($0, state, now) }
  }

  /// How long an issuer counts as usable after its last token, whatever the result of further requests: a failed one
  /// may be for a token that it never issues.
  static let tokenTime = Duration.seconds(300)

  /// Whether the issuer's tokens can be validated, or it gives tokens.
  private static func isUsable(_ name: String, _ state: State, _ now: MonotonicInstant) -> Bool {
    if let giver = state.givers[name], !giver.hasFailedSince || now - giver.at < tokenTime { return true }
    guard let keys = state.keySets[name] else { return !state.isWatched }
    return keys.status != .down
  }

  /// Adds the checks of invalid replacements.
  private static func add(_ replacements: [String: String], to checks: inout [String: Health.Check]) {
    for (name, problem) in replacements {
      checks[name] = Health.Check(
        status: .degraded, detail: "the replacement is not valid, the previous one is in force: \(problem)")
    }
  }

  /// The worst of the checks; one part that is down takes the whole down only where nothing is left.
  private static func overall(_ checks: [String: Health.Check], isDown: Bool) -> Health.Status {
    if isDown { return .down }
    return checks.values.allSatisfy { $0.status == .ok } ? .ok : .degraded
  }

  private static func check(_ observation: Observation, _ now: MonotonicInstant) -> Health.Check {
    Health.Check(
      status: observation.status, detail: observation.detail, ageMs: (now - observation.at).wholeMilliseconds)
  }
}
