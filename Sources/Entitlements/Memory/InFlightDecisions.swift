import PosternSupport

/// The cached decisions and the lookups in flight: one lookup for each resource, however many calls wait for it.
///
/// A value; `DecisionCache` has it behind a lock. A lookup belongs to no single call and ends early only when all its
/// waiters have left. A lookup of decisions that were removed, or one that bypasses the cache, is joined by no later
/// call, and its result is not cached.
struct InFlightDecisions: Sendable {
  /// The plan of one call: its cached decisions, and the lookups it has started or joined.
  struct Plan: Sendable {
    /// The cached decisions, in the order of the resources.
    let known: [CachedDecision?]
    /// The number of decisions that the call waits for.
    var awaited = 0
    /// The resources that no lookup is about yet.
    var missing: [ResourceName] = []
    /// The lookup that was started for `missing`; nil when there is nothing to look up.
    var lookup: UInt64?
    /// The lookups that the call waits for.
    var joined: Set<UInt64> = []
    /// The cached resources that are in use and expire soon.
    var expiring: [ResourceName] = []
    /// The lookup that was started for `expiring`, without a waiter.
    var refresh: UInt64?
  }

  /// The number of refreshes that may run at once.
  static let maxRefreshes = 16
  private static let share = FairShare.times

  var memory: CachedDecisions
  var lookups: [UInt64: DecisionLookup] = [:]
  /// The lookups that started as refreshes, without a waiter; they do not end with calls that join them.
  var refreshes: Set<UInt64> = []
  private var joinable = JoinableLookups()
  private var lastIdentifier: UInt64 = 0

  init(memory: CachedDecisions) { self.memory = memory }

  /// Looks `resources` up in the cache, joins `wait` to lookups in flight, and starts lookups of the rest and
  /// refreshes.
  mutating func begin(
    _ resources: [ResourceName], in scope: DecisionScope, disabled: Set<PreauthorizeRequest.Feature>,
    at now: MonotonicInstant, _ wait: DecisionWait
  ) -> Plan {
    let isLocal = !disabled.contains(.localCache)
    let bypasses = disabled.contains(.remoteCache)
    var plan = Plan(
      known: isLocal
        ? memory.decisions(about: resources, in: scope, at: now) : Array(repeating: nil, count: resources.count))
    var unknown: [ResourceName] = []
    var hot: [ResourceName] = []
    for (index, resource) in resources.enumerated() {
      guard let kept = plan.known[index] else {
        unknown.append(resource)
        continue
      }
      if kept.needsRefresh(at: now) { hot.append(resource) }
    }
    guard !unknown.isEmpty || !hot.isEmpty else { return plan }
    var open = joinable.take(scope)
    plan.awaited = unknown.count
    plan.missing = isLocal ? join(unknown, in: open, bypasses, wait, &plan.joined) : unknown
    if !plan.missing.isEmpty {
      let identifier = begin(plan.missing, in: scope, bypasses, wait, &open)
      plan.joined.insert(identifier)
      plan.lookup = identifier
    }
    plan.expiring = hot.filter { open[$0] == nil }
    if !plan.expiring.isEmpty, mayRefresh(for: scope.uid) {
      memory.startRefresh(of: plan.expiring, in: scope)
      let identifier = begin(plan.expiring, in: scope, bypasses, nil, &open)
      refreshes.insert(identifier)
      plan.refresh = identifier
    }
    joinable.put(open, in: scope)
    return plan
  }

  /// Joins `wait` to the lookups in flight of `resources`; returns the resources without one.
  private mutating func join(
    _ resources: [ResourceName], in open: JoinableLookups.Names, _ bypassesRemoteCache: Bool, _ wait: DecisionWait,
    _ joined: inout Set<UInt64>
  ) -> [ResourceName] {
    guard !open.isEmpty else { return resources }
    var missing: [ResourceName] = []
    var wanted: [UInt64: Set<ResourceName>] = [:]
    for resource in resources {
      let identifier = open[resource].flatMap { wanted[$0] != nil || mayJoin($0, bypassesRemoteCache) ? $0 : nil }
      if let identifier {
        wanted[identifier, default: []].insert(resource)
      } else {
        missing.append(resource)
      }
    }
    for (identifier, names) in wanted {
      lookups[identifier]?.join(wait, for: names)
      joined.insert(identifier)
    }
    return missing
  }

  private func mayJoin(_ identifier: UInt64, _ bypassesRemoteCache: Bool) -> Bool {
    lookups[identifier].map { $0.bypassesRemoteCache || !bypassesRemoteCache } ?? false
  }

  /// Whether `uid` leaves enough slots for the refreshes of others.
  private func mayRefresh(for uid: UInt32) -> Bool {
    let own = refreshes.count { lookups[$0]?.scope.uid == uid }
    return own < Self.share * (Self.maxRefreshes - refreshes.count)
  }

  private mutating func begin(
    _ resources: [ResourceName], in scope: DecisionScope, _ bypassesRemoteCache: Bool, _ wait: DecisionWait?,
    _ open: inout JoinableLookups.Names
  ) -> UInt64 {
    lastIdentifier += 1
    for resource in resources { open[resource] = lastIdentifier }
    let pending = Set(resources)
    var lookup = DecisionLookup(pending, in: scope, bypassesRemoteCache: bypassesRemoteCache)
    if let wait { lookup.join(wait, for: pending) }
    lookups[lastIdentifier] = lookup
    return lastIdentifier
  }

  /// Takes the decisions of a lookup; they are cached where that is allowed and no removal has made them out of date.
  /// Returns those that were pending, and the waiters; nil when the lookup is gone.
  mutating func resolve(
    _ identifier: UInt64, _ decisions: [(ResourceName, CachedDecision)]
  ) -> (waiters: [DecisionLookup.Waiter], decisions: [(ResourceName, CachedDecision)])? {
    // Both are removed while they change: to look either up costs more than the change.
    guard var lookup = lookups.removeValue(forKey: identifier) else { return nil }
    var open = joinable.take(lookup.scope)
    let answered = decisions.filter { lookup.pending.remove($0.0) != nil }
    let newest = decisions.filter { open[$0.0] == identifier }
    for (resource, _) in newest { open[resource] = nil }
    memory.take(newest, in: lookup.scope)
    joinable.put(open, in: lookup.scope)
    if lookup.pending.isEmpty {
      refreshes.remove(identifier)
    } else {
      lookups[identifier] = lookup
    }
    return (Array(lookup.waiters.values), answered)
  }

  /// Ends a call that had joined lookups. Returns the tasks of the lookups without a waiter.
  mutating func leave(_ wait: DecisionWait, _ joined: Set<UInt64>) -> [Task<Void, Never>] {
    var abandoned: [Task<Void, Never>] = []
    for identifier in joined {
      lookups[identifier]?.leave(wait)
      guard !refreshes.contains(identifier), let lookup = lookups[identifier], lookup.waiters.isEmpty else { continue }
      var open = joinable.take(lookup.scope)
      for resource in lookup.pending where open[resource] == identifier { open[resource] = nil }
      joinable.put(open, in: lookup.scope)
      if let task = drop(identifier) { abandoned.append(task) }
    }
    return abandoned
  }

  /// Detaches the lookups of what `selection`, whose names are `names`, includes in one part, so that their results are
  /// not cached. Returns the tasks of refreshes that are no longer needed.
  mutating func close(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) -> [Task<Void, Never>] {
    joinable.close(selection, names, part: part)
    var abandoned: [Task<Void, Never>] = []
    for identifier in refreshes {
      guard let lookup = lookups[identifier], lookup.scope.part == part, lookup.waiters.isEmpty,
        selection.includes(lookup.scope)
      else { continue }
      if let names { lookups[identifier]?.pending.subtract(names.intersection(lookup.pending)) }
      if names == nil || lookups[identifier]?.pending.isEmpty == true, let task = drop(identifier) {
        abandoned.append(task)
      }
    }
    return abandoned
  }

  private mutating func drop(_ identifier: UInt64) -> Task<Void, Never>? {
    refreshes.remove(identifier)
    return lookups.removeValue(forKey: identifier)?.task
  }
}

/// The lookups that a call may join, by uid and part, so that a removal scans one uid's, a part at a time.
struct JoinableLookups: Sendable {
  /// The lookup of each resource.
  typealias Names = [ResourceName: UInt64]

  private struct PartKey: Sendable, Hashable {
    let uid: UInt32
    let part: Int
  }

  private var parts: [PartKey: [DecisionScope: Names]] = [:]

  /// Takes the lookups of `scope` out, to be put back: a look-up compares everything that decisions depend on, which is
  /// too much for each resource.
  mutating func take(_ scope: DecisionScope) -> Names {
    parts[PartKey(uid: scope.uid, part: scope.part)]?.removeValue(forKey: scope) ?? [:]
  }

  mutating func put(_ names: Names, in scope: DecisionScope) {
    let key = PartKey(uid: scope.uid, part: scope.part)
    if !names.isEmpty {
      parts[key, default: [:]][scope] = names
    } else if parts[key]?.isEmpty == true {
      parts[key] = nil
    }
  }

  /// Makes the lookups of what `selection`, whose names are `names`, includes in one part no longer joinable.
  mutating func close(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) {
    let owners = selection.uid.map { [$0] } ?? parts.keys.filter { $0.part == part }.map(\.uid)
    for uid in owners {
      let scopes = parts[PartKey(uid: uid, part: part)]?.keys.filter(selection.includes) ?? []
      for scope in scopes {
        var open = take(scope)
        let gone = names.map { $0.found(in: open) }
        for name in gone ?? [] { open[name] = nil }
        put(gone == nil ? [:] : open, in: scope)
      }
    }
  }
}

/// A lookup in flight, with its waiters.
struct DecisionLookup: Sendable {
  /// A call that has joined and has not ended.
  struct Waiter: Sendable {
    let wait: DecisionWait
    /// The resources it waits for.
    let wanted: Set<ResourceName>

    /// Delivers those of `decisions` that it waits for.
    func deliver(_ decisions: [(ResourceName, CachedDecision)]) {
      wait.deliver(decisions.lazy.filter { wanted.contains($0.0) })
    }
  }

  let scope: DecisionScope
  let bypassesRemoteCache: Bool
  /// The resources without an answer so far.
  var pending: Set<ResourceName>
  /// By call and not by resource: a call that leaves costs the same however many resources it has.
  private(set) var waiters: [ObjectIdentifier: Waiter] = [:]
  var task: Task<Void, Never>?

  init(_ pending: Set<ResourceName>, in scope: DecisionScope, bypassesRemoteCache: Bool) {
    self.pending = pending
    self.scope = scope
    self.bypassesRemoteCache = bypassesRemoteCache
  }

  mutating func join(_ wait: DecisionWait, for wanted: Set<ResourceName>) {
    waiters[ObjectIdentifier(wait)] = Waiter(wait: wait, wanted: wanted)
  }

  mutating func leave(_ wait: DecisionWait) { waiters[ObjectIdentifier(wait)] = nil }
}
