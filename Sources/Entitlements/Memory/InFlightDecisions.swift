import PosternSupport

/// What is known and what is being asked: the memory, and one lookup for each resource however many calls wait for it.
///
/// A value: `DecisionCache` guards it. A lookup belongs to nobody and ends early only when nobody waits for it any
/// more. What is purged, or asked anew around the memory, is joined by no later call and remembered by none.
struct InFlightDecisions: Sendable {
  /// What a call finds, and what it has to ask.
  struct Beginning: Sendable {
    /// What is remembered, in the order of the resources.
    let known: [KeptDecision?]
    /// How many decisions the call's wait is for.
    var awaited = 0
    /// What nobody asks about yet.
    var missing: [ResourceName] = []
    /// The lookup that was begun for `missing`; nil when there is nothing to ask.
    var lookup: UInt64?
    /// The lookups that the call waits for.
    var joined: Set<UInt64> = []
    /// What is remembered, asked for often enough, and soon to expire.
    var expiring: [ResourceName] = []
    /// The lookup that was begun for `expiring`, with nobody waiting.
    var renewal: UInt64?
  }

  /// How many renewals may be under way, and how many times what is free an owner may have of them.
  static let maxRenewals = 16
  private static let share = FairShare.times

  var memory: DecisionMemory
  var lookups: [UInt64: DecisionLookup] = [:]
  /// Those that began with nobody waiting; they do not end with those who join them.
  var renewals: Set<UInt64> = []
  private var joinable = JoinableLookups()
  private var lastIdentifier: UInt64 = 0

  init(memory: DecisionMemory) { self.memory = memory }

  /// Looks `resources` up, has `wait` join what is being asked, and begins lookups of the rest and of what is to be
  /// renewed.
  mutating func begin(
    _ resources: [ResourceName], in scope: DecisionScope, disabled: Set<PreauthorizeRequest.Feature>,
    at now: MonotonicInstant, _ wait: DecisionWait
  ) -> Beginning {
    let isLocal = !disabled.contains(.localCache)
    let bypasses = disabled.contains(.remoteCache)
    var beginning = Beginning(
      known: isLocal
        ? memory.decisions(about: resources, in: scope, at: now) : Array(repeating: nil, count: resources.count))
    var unknown: [ResourceName] = []
    var hot: [ResourceName] = []
    for (place, resource) in resources.enumerated() {
      guard let kept = beginning.known[place] else {
        unknown.append(resource)
        continue
      }
      if kept.isHot(at: now) { hot.append(resource) }
    }
    guard !unknown.isEmpty || !hot.isEmpty else { return beginning }
    var open = joinable.take(scope)
    beginning.awaited = unknown.count
    beginning.missing = isLocal ? join(unknown, in: open, bypasses, wait, &beginning.joined) : unknown
    if !beginning.missing.isEmpty {
      let identifier = begin(beginning.missing, in: scope, bypasses, wait, &open)
      beginning.joined.insert(identifier)
      beginning.lookup = identifier
    }
    beginning.expiring = hot.filter { open[$0] == nil }
    if !beginning.expiring.isEmpty, mayRenew(for: scope.owner) {
      memory.beginRenewal(of: beginning.expiring, in: scope)
      let identifier = begin(beginning.expiring, in: scope, bypasses, nil, &open)
      renewals.insert(identifier)
      beginning.renewal = identifier
    }
    joinable.put(open, in: scope)
    return beginning
  }

  /// Has `wait` join what is being asked of `resources`; returns what is not.
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

  /// Whether `owner` leaves room for the renewals of others.
  private func mayRenew(for owner: UInt32) -> Bool {
    let own = renewals.count { lookups[$0]?.scope.owner == owner }
    return own < Self.share * (Self.maxRenewals - renewals.count)
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

  /// Decisions have come; they are remembered where they may be, and nothing has happened meanwhile that makes them
  /// old. Returns what had not been answered yet, and who is to be told; nil when nobody wants it any more.
  mutating func resolve(
    _ identifier: UInt64, _ decisions: [(ResourceName, KeptDecision)]
  ) -> (waiters: [DecisionLookup.Waiter], decisions: [(ResourceName, KeptDecision)])? {
    // Taken out for the while: to find either costs more than what is done with it.
    guard var lookup = lookups.removeValue(forKey: identifier) else { return nil }
    var open = joinable.take(lookup.scope)
    let answered = decisions.filter { lookup.pending.remove($0.0) != nil }
    let newest = decisions.filter { open[$0.0] == identifier }
    for (resource, _) in newest { open[resource] = nil }
    memory.take(newest, in: lookup.scope)
    joinable.put(open, in: lookup.scope)
    if lookup.pending.isEmpty {
      renewals.remove(identifier)
    } else {
      lookups[identifier] = lookup
    }
    return (Array(lookup.waiters.values), answered)
  }

  /// A call is over that had joined lookups. Returns the tasks of those that nobody waits for any more.
  mutating func leave(_ wait: DecisionWait, _ joined: Set<UInt64>) -> [Task<Void, Never>] {
    var abandoned: [Task<Void, Never>] = []
    for identifier in joined {
      lookups[identifier]?.leave(wait)
      guard !renewals.contains(identifier), let lookup = lookups[identifier], lookup.waiters.isEmpty else { continue }
      var open = joinable.take(lookup.scope)
      for resource in lookup.pending where open[resource] == identifier { open[resource] = nil }
      joinable.put(open, in: lookup.scope)
      if let task = drop(identifier) { abandoned.append(task) }
    }
    return abandoned
  }

  /// What is being asked of what `selection`, whose names are `names`, means in one part is remembered by nobody.
  /// Returns renewals that nobody needs any more.
  mutating func close(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) -> [Task<Void, Never>] {
    joinable.close(selection, names, part: part)
    var abandoned: [Task<Void, Never>] = []
    for identifier in renewals {
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
    renewals.remove(identifier)
    return lookups.removeValue(forKey: identifier)?.task
  }
}
