import PosternSupport

/// The decisions that are cached, by scope. Bounded in entries and bytes: the uid with the most entries loses its least
/// recently used ones.
///
/// A value; `DecisionCache` has it behind a lock.
struct CachedDecisions: Sendable {
  /// The bounds of the cache.
  struct Limits: Sendable {
    let count: Int
    let bytes: Int
  }

  private let limits: Limits
  private var owners: [UInt32: DecisionGenerations] = [:]
  /// The number of cached decisions, expired ones included.
  private(set) var count = 0
  private var bytes = 0

  init(maxEntries: Int = 131_072, maxBytes: Int = 64 << 20) { limits = Limits(count: maxEntries, bytes: maxBytes) }

  /// Whether the cache is empty.
  var isEmpty: Bool { count == 0 }

  /// Returns the cached decisions about `resources`, in their order; nil where there is none, or an expired one.
  mutating func decisions(
    about resources: [ResourceName], in scope: DecisionScope, at now: MonotonicInstant
  ) -> [CachedDecision?] {
    guard owners[scope.uid] != nil else { return Array(repeating: nil, count: resources.count) }
    return change(scope.uid) { $0.decisions(about: resources, in: scope, at: now) }
  }

  /// Caches those of `decisions` that may be cached, and removes older decisions about the other resources that are
  /// decided: those are out of date.
  mutating func take(_ decisions: [(ResourceName, CachedDecision)], in scope: DecisionScope) {
    guard !decisions.isEmpty else { return }
    change(scope.uid) { $0.take(decisions, in: scope) }
  }

  /// Marks the decisions as being refreshed, so that the next call does not start another refresh.
  mutating func startRefresh(of resources: [ResourceName], in scope: DecisionScope) {
    owners[scope.uid]?.startRefresh(of: resources, in: scope)
  }

  /// Removes what `selection`, whose names are `names`, includes in one part of the scopes; returns how many decisions
  /// those were.
  mutating func remove(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) -> Int {
    var removed = 0
    for uid in selection.uid.map({ [$0] }) ?? Array(owners.keys) where owners[uid] != nil {
      removed += change(uid) { $0.remove(selection, names, part: part) }
    }
    return removed
  }

  /// Changes the decisions of one uid, and evicts entries where the bounds are exceeded.
  @discardableResult
  private mutating func change<Result>(_ uid: UInt32, _ body: (inout DecisionGenerations) -> Result) -> Result {
    let result = update(uid, body)
    if owners[uid]?.hasOutgrown(half: limits) == true { update(uid) { $0.age() } }
    while count > limits.count || bytes > limits.bytes, let most = largestUID { update(most) { $0.age() } }
    return result
  }

  private var largestUID: UInt32? {
    let size: (DecisionGenerations) -> Int = count > limits.count ? { $0.count } : { $0.bytes }
    return owners.max { size($0.value) < size($1.value) }?.key
  }

  private mutating func update<Result>(_ uid: UInt32, _ body: (inout DecisionGenerations) -> Result) -> Result {
    // Removed from the dictionary while it changes, so that there is one copy.
    var owned = owners.removeValue(forKey: uid) ?? DecisionGenerations()
    let before = (owned.count, owned.bytes)
    let result = body(&owned)
    count += owned.count - before.0
    bytes += owned.bytes - before.1
    if owned.count > 0 { owners[uid] = owned }
    return result
  }
}

/// One uid's cached decisions, by scope, in two generations: the least recently used ones are evicted first. Each
/// generation is divided into parts, so that a scan of all scopes can go a part at a time.
struct DecisionGenerations: Sendable {
  private struct Generation {
    private(set) var scopes = [[DecisionScope: ScopedDecisions]](repeating: [:], count: DecisionScope.parts)
    private(set) var count = 0
    private(set) var bytes = 0

    /// Takes the decisions of a scope out, to be put back: a look-up compares everything that decisions depend on,
    /// which is too much for each resource.
    mutating func take(_ scope: DecisionScope) -> ScopedDecisions? {
      guard let scoped = scopes[scope.part].removeValue(forKey: scope) else { return nil }
      count -= scoped.decisions.count
      bytes -= scoped.bytes + scope.bytes.count
      return scoped
    }

    mutating func put(_ scoped: ScopedDecisions, in scope: DecisionScope) {
      guard !scoped.decisions.isEmpty else { return }
      scopes[scope.part][scope] = scoped
      count += scoped.decisions.count
      bytes += scoped.bytes + scope.bytes.count
    }

    mutating func startRefresh(of resources: [ResourceName], in scope: DecisionScope) {
      scopes[scope.part][scope]?.startRefresh(of: resources)
    }
  }

  private var young = Generation()
  private var old = Generation()

  /// The number of cached decisions, expired ones included.
  var count: Int { young.count + old.count }
  /// Their size in bytes.
  var bytes: Int { young.bytes + old.bytes }

  /// Whether the younger generation exceeds half of `limits`.
  func hasOutgrown(half limits: CachedDecisions.Limits) -> Bool {
    young.count > max(1, limits.count / 2) || young.bytes > max(1, limits.bytes / 2)
  }

  /// Drops the older generation, which holds the least recently used decisions.
  mutating func age() {
    old = young
    young = Generation()
  }

  /// Returns the cached decisions about `resources`, in their order; nil where there is none, or an expired one.
  mutating func decisions(
    about resources: [ResourceName], in scope: DecisionScope, at now: MonotonicInstant
  ) -> [CachedDecision?] {
    guard old.count > 0, var older = old.take(scope) else {
      let scoped = young.scopes[scope.part][scope]
      return resources.map { resource in scoped?.fresh(resource, at: now) }
    }
    var scoped = young.take(scope) ?? ScopedDecisions()
    let found = resources.map { resource in
      if scoped.decisions[resource] == nil, let kept = older.fresh(resource, at: now) {
        older.remove(resource)
        scoped.keep(kept, about: resource)
      }
      return scoped.fresh(resource, at: now)
    }
    old.put(older, in: scope)
    young.put(scoped, in: scope)
    return found
  }

  /// Caches those of `decisions` that may be cached, and removes older decisions about the other resources that are
  /// decided: those are out of date.
  mutating func take(_ decisions: [(ResourceName, CachedDecision)], in scope: DecisionScope) {
    var scoped = young.take(scope) ?? ScopedDecisions()
    var older = old.count > 0 ? old.take(scope) : nil
    for (resource, decision) in decisions {
      if decision.expiry != nil {
        scoped.keep(decision, about: resource)
      } else if decision.verdict.isDecided {
        scoped.remove(resource)
      } else {
        continue
      }
      older?.remove(resource)
    }
    young.put(scoped, in: scope)
    if let older { old.put(older, in: scope) }
  }

  /// Marks the decisions as being refreshed, so that the next call does not start another refresh.
  mutating func startRefresh(of resources: [ResourceName], in scope: DecisionScope) {
    young.startRefresh(of: resources, in: scope)
    if old.count > 0 { old.startRefresh(of: resources, in: scope) }
  }

  /// Removes what `selection`, whose names are `names`, includes in one part; returns how many decisions those were.
  mutating func remove(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) -> Int {
    Self.remove(selection, names, part, from: &young) + Self.remove(selection, names, part, from: &old)
  }

  private static func remove(
    _ selection: DecisionSelection, _ names: Set<ResourceName>?, _ part: Int, from generation: inout Generation
  ) -> Int {
    var removed = 0
    for scope in generation.scopes[part].keys.filter(selection.includes) {
      guard var scoped = generation.take(scope) else { continue }
      removed += scoped.decisions.count
      guard let names else { continue }
      for resource in names.found(in: scoped.decisions) { scoped.remove(resource) }
      removed -= scoped.decisions.count
      generation.put(scoped, in: scope)
    }
    return removed
  }
}

/// The cached decisions of one scope.
struct ScopedDecisions: Sendable {
  /// The size of an entry without its texts, in bytes.
  private static let overhead = 192

  private(set) var decisions: [ResourceName: CachedDecision] = [:]
  /// Their size in bytes.
  private(set) var bytes = 0

  /// Returns the cached decision about `resource` that has not expired.
  func fresh(_ resource: ResourceName, at now: MonotonicInstant) -> CachedDecision? {
    decisions[resource].flatMap { $0.isFresh(at: now) ? $0 : nil }
  }

  mutating func keep(_ decision: CachedDecision, about resource: ResourceName) {
    bytes += Self.weight(decision, resource)
    if let former = decisions.updateValue(decision, forKey: resource) { bytes -= Self.weight(former, resource) }
  }

  mutating func remove(_ resource: ResourceName) {
    if let former = decisions.removeValue(forKey: resource) { bytes -= Self.weight(former, resource) }
  }

  mutating func startRefresh(of resources: [ResourceName]) {
    for resource in resources { decisions[resource]?.refreshAt = nil }
  }

  private static func weight(_ decision: CachedDecision, _ resource: ResourceName) -> Int {
    var weight = overhead + resource.text.utf8.count
    if case .deny(let status, _) = decision.verdict {
      for text in [status.code, status.action, status.message] { weight += text.utf8.count }
      for text in [status.details, status.helpURL, status.trace] { weight += text?.utf8.count ?? 0 }
    }
    return weight
  }
}

/// A decision as it is cached, and as it is delivered to waiting calls.
struct CachedDecision: Sendable {
  /// Decisions with a shorter lifetime are not refreshed ahead.
  private static let shortestLifetime = Duration.seconds(1)

  let verdict: DecisionVerdict
  /// The time of the decision point's answer.
  let answeredAt: MonotonicInstant
  /// The end of its lifetime; nil when it is not cached.
  let expiry: MonotonicInstant?
  /// The end of its lifetime by the wall clock.
  let expiresAt: Timestamp?
  /// The time from which the next use starts a refresh; nil when none will, or not again.
  var refreshAt: MonotonicInstant?

  /// Whether it has not expired.
  func isFresh(at now: MonotonicInstant) -> Bool { expiry.map { $0 > now } ?? false }

  /// Whether its use at `now` starts a refresh.
  func needsRefresh(at now: MonotonicInstant) -> Bool { refreshAt.map { $0 <= now } ?? false }

  /// Returns the start of the last fifth of a lifetime; nil when the lifetime is too short for a refresh.
  static func refreshTime(ofLifetime life: Duration, from now: MonotonicInstant) -> MonotonicInstant? {
    life >= shortestLifetime ? now + (life - life / 5) : nil
  }
}
