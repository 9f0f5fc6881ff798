import AuthEngine
import PosternProtocol
import PosternSupport

/// What the last real use of each part showed, and the watch over what must be there to begin with. Never calls anybody
/// to find out.
final class HealthMonitor: Sendable {
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
    /// The issuers that answer and publish no key set, for they need none.
    var keyless: Set<String> = []
    /// When each issuer last gave a token, and whether a later request for one failed.
    var givers: [String: (at: MonotonicInstant, hasFailedSince: Bool)] = [:]
    /// Nil: nobody has looked, and nobody is going to.
    var store: Observation?
    /// The last write failed, and none has worked since: looking at the store does not show that.
    var failedWrite: Observation?
    /// Whether somebody is about to look at the store for the first time.
    var isStoreAwaited = false
    /// Until when it is worth waiting for what is about to be known.
    var settlesUntil: MonotonicInstant
    /// Whether every issuer is asked for its keys until it has given them.
    var isWatched = false
    /// The issuers whose clocks differ too much.
    var clocks: [String: Observation] = [:]
    /// The decision points by name; nil: not asked yet.
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

  init(clock: any EngineClock) {
    self.clock = clock
    let now = clock.monotonicNow
    state = Locked(State(configuration: Observation(status: .ok, detail: nil, at: now), settlesUntil: now))
  }

  /// A configuration is in force; what is known of the issuers and decision points that stay as they are is kept, and
  /// nothing of those that are `changed`.
  func configurationLoaded(
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
  func issuer(_ name: String, fault: String?) {
    let observation = Observation(status: fault == nil ? .ok : .degraded, detail: fault, at: clock.monotonicNow)
    state.withLock { state in
      if state.issuers[name] != nil { state.issuers[name] = observation }
    }
  }

  /// An issuer was asked for a token; nil `fault` means that it gave one.
  func token(of name: String, fault: String?) {
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

  /// Whether an issuer of which nothing has been had yet counts as down: somebody asks then until it has answered.
  func watch(_ isWatched: Bool) {
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
      return !state.isStoreAwaited
        && (!state.isWatched || state.issuers.keys.allSatisfy { state.keySets[$0] != nil })
    }
  }

  /// The store is going to be looked at: until then it counts as down.
  func awaitStore() {
    let observation = Observation(status: .down, detail: "not looked at yet", at: clock.monotonicNow)
    state.withLock { state in
      state.store = observation
      state.isStoreAwaited = true
      state.settlesUntil = observation.at + Self.settlingTime
    }
  }

  /// The store was looked at; nil `fault` means that it can be used.
  func store(fault: String?, detail: String? = nil) {
    let observation = Observation(status: fault == nil ? .ok : .down, detail: fault ?? detail, at: clock.monotonicNow)
    state.withLock { state in
      state.store = observation
      state.isStoreAwaited = false
    }
  }

  /// Something was written into the store; nil `fault` means that it worked. True when that is news.
  func storeWritten(fault: String?) -> Bool {
    let observation = fault.map { Observation(status: .down, detail: $0, at: clock.monotonicNow) }
    return state.withLock { state in
      defer { state.failedWrite = observation }
      return (state.failedWrite == nil) != (observation == nil)
    }
  }

  /// Whether the last write into the store failed.
  var isStoreUnwritable: Bool { state.withLock { $0.failedWrite != nil } }

  /// An issuer answers and publishes no key set, and the configuration needs none of it.
  func publishesNoKeys(_ issuer: String) {
    let detail = "publishes no key set: its tokens cannot be validated here"
    let observation = Observation(status: .ok, detail: detail, at: clock.monotonicNow)
    state.withLock { state in
      guard state.issuers[issuer] != nil else { return }
      state.keyless.insert(issuer)
      state.keySets[issuer] = observation
    }
  }

  /// A decision point was asked; nil `fault` means that it answered.
  func decisionPoint(_ name: String, fault: String?) {
    let observation = Observation(status: fault == nil ? .ok : .degraded, detail: fault, at: clock.monotonicNow)
    state.withLock { state in
      if state.decisionPoints[name] != nil { state.decisionPoints[name] = observation }
    }
  }

  /// The key set of an issuer was asked for; nil `fault` means that it came. With a fault there is an older one to use,
  /// or none.
  func keys(of issuer: String, fault: String?, hasOlder: Bool = true) {
    let status: Health.Status = fault == nil ? .ok : hasOlder ? .degraded : .down
    let observation = Observation(status: status, detail: fault, at: clock.monotonicNow)
    state.withLock { state in
      guard state.issuers[issuer] != nil, fault == nil || !state.keyless.contains(issuer) else { return }
      state.keySets[issuer] = observation
      if fault == nil { state.keyless.remove(issuer) }
    }
  }

  /// Whether the board says that there are keys of the issuer.
  func showsKeys(of issuer: String) -> Bool {
    state.withLock { state in state.keySets[issuer].map { $0.status != .down } ?? false }
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

  /// The checks of what `scope` shows, and the worst of them. `keySets` tells how old the issuers' key sets are now,
  /// `certificates` whose time may run out.
  func report(
    for scope: PeerScope = .everything, keySets: [KeySetAge] = [], certificates: [ClientCertificate] = [],
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
    // What is down there is nothing that something else could stand in for.
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
    if let store = state.failedWrite ?? state.store { checks["store"] = check(store, now) }
    for name in state.issuers.keys where state.isWatched && state.keySets[name] == nil {
      checks["issuer.\(name).keys"] = Health.Check(status: .down, detail: "not fetched yet")
    }
    for (name, observation) in state.keySets { checks["issuer.\(name).keys"] = check(observation, now) }
    for (name, observation) in state.clocks { checks["issuer.\(name).clock"] = check(observation, now) }
    return Health.Result(status: overall(checks, isDown: isDown(state, now)), checks: checks)
  }

  /// Whether nothing can work: the store is lost, or no issuer at all can be used.
  private static func isDown(_ state: State, _ now: MonotonicInstant) -> Bool {
    if state.store?.status == .down || state.failedWrite != nil { return true }
    return !state.issuers.isEmpty && state.issuers.keys.allSatisfy { !isUsable($0, state, now) }
  }

  /// How long the tokens that an issuer gave last count as of use, whatever becomes of further requests: one that fails
  /// may be for something it never gives.
  static let tokenTime = Duration.seconds(300)

  /// Whether the issuer's tokens can be validated, or it gives tokens.
  private static func isUsable(_ name: String, _ state: State, _ now: MonotonicInstant) -> Bool {
    if let giver = state.givers[name], !giver.hasFailedSince || now - giver.at < tokenTime { return true }
    guard let keys = state.keySets[name] else { return !state.isWatched }
    return keys.status != .down
  }

  /// What was replaced by something of no use.
  private static func add(_ replacements: [String: String], to checks: inout [String: Health.Check]) {
    for (name, problem) in replacements {
      checks[name] = Health.Check(
        status: .degraded, detail: "replaced by something of no use, what was there before is in force: \(problem)")
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
