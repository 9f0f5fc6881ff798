import Support

/// What is known and what is being asked: the memory, and one lookup for each resource however many calls wait for it.
///
/// A value: `DecisionBoard` guards it. A lookup belongs to nobody and ends early only when nobody waits for it any more. What is purged, or
/// asked anew around the memory, is joined by no later call and remembered by none.
struct DecisionLedger: Sendable {
  /// Something that is being asked.
  struct Lookup: Sendable {
    let scope: DecisionScope
    let bypassesRemoteCache: Bool
    /// Who waits for what; resources that are answered are gone.
    var waits: [ResourceName: [DecisionWait]]
    var task: Task<Void, Never>?
  }

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
  var lookups: [UInt64: Lookup] = [:]
  /// Those that began with nobody waiting; they do not end with those who join them.
  var renewals: Set<UInt64> = []
  /// Which lookup a call may join.
  private var joinable: [DecisionScope: [ResourceName: UInt64]] = [:]
  private var lastIdentifier: UInt64 = 0

  init(memory: DecisionMemory) { self.memory = memory }

  /// Looks `resources` up, has `wait` join what is being asked, and begins lookups of the rest and of what is to be renewed.
  mutating func begin(
    _ resources: [ResourceName], in scope: DecisionScope, disabled: Set<PreauthorizeRequest.Feature>,
    at now: MonotonicInstant, _ wait: DecisionWait
  ) -> Beginning {
    let isLocal = !disabled.contains(.localCache)
    let bypasses = disabled.contains(.remoteCache)
    var beginning = Beginning(
      known: isLocal
        ? memory.decisions(about: resources, in: scope, at: now) : Array(repeating: nil, count: resources.count))
    for (place, resource) in resources.enumerated() {
      if let kept = beginning.known[place] {
        if kept.isHot(at: now), joinable[scope]?[resource] == nil { beginning.expiring.append(resource) }
        continue
      }
      beginning.awaited += 1
      if isLocal, let identifier = joinable[scope]?[resource],
        lookups[identifier].map({ $0.bypassesRemoteCache || !bypasses }) == true
      {
        lookups[identifier]?.waits[resource]?.append(wait)
        beginning.joined.insert(identifier)
      } else {
        beginning.missing.append(resource)
      }
    }
    if !beginning.missing.isEmpty {
      let identifier = open(beginning.missing, in: scope, bypasses, [wait])
      beginning.joined.insert(identifier)
      beginning.lookup = identifier
    }
    if !beginning.expiring.isEmpty, mayRenew(for: scope.owner) {
      for resource in beginning.expiring { memory.beginRenewal(of: resource, in: scope) }
      let identifier = open(beginning.expiring, in: scope, bypasses, [])
      renewals.insert(identifier)
      beginning.renewal = identifier
    }
    return beginning
  }

  /// Whether `owner` leaves room for the renewals of others.
  private func mayRenew(for owner: UInt32) -> Bool {
    let own = renewals.count { lookups[$0]?.scope.owner == owner }
    return own < Self.share * (Self.maxRenewals - renewals.count)
  }

  private mutating func open(
    _ resources: [ResourceName], in scope: DecisionScope, _ bypassesRemoteCache: Bool, _ waits: [DecisionWait]
  ) -> UInt64 {
    lastIdentifier += 1
    var open = joinable.removeValue(forKey: scope) ?? [:]
    for resource in resources { open[resource] = lastIdentifier }
    joinable[scope] = open
    lookups[lastIdentifier] = Lookup(
      scope: scope, bypassesRemoteCache: bypassesRemoteCache,
      waits: Dictionary(resources.map { ($0, waits) }, uniquingKeysWith: { first, _ in first }))
    return lastIdentifier
  }

  /// Decisions have come; they are remembered where they may be, and nothing has happened meanwhile that makes them old. Returns who is to
  /// be told.
  mutating func resolve(
    _ identifier: UInt64, _ decisions: [(ResourceName, KeptDecision)]
  ) -> [(DecisionWait, ResourceName, KeptDecision)] {
    // Taken out for the while: to find either costs more than what is done with it.
    guard var lookup = lookups.removeValue(forKey: identifier) else { return [] }
    let scope = lookup.scope
    var open = joinable.removeValue(forKey: scope) ?? [:]
    var deliveries: [(DecisionWait, ResourceName, KeptDecision)] = []
    for (resource, decision) in decisions {
      for wait in lookup.waits.removeValue(forKey: resource) ?? [] { deliveries.append((wait, resource, decision)) }
      guard open[resource] == identifier else { continue }
      open[resource] = nil
      if decision.expiry != nil {
        memory.keep(decision, about: resource, in: scope)
      } else if decision.verdict.isDecided {
        // A newer word than the one that is kept.
        memory.remove(resource, in: scope)
      }
    }
    if !open.isEmpty { joinable[scope] = open }
    if lookup.waits.isEmpty {
      renewals.remove(identifier)
    } else {
      lookups[identifier] = lookup
    }
    return deliveries
  }

  /// A call waits no longer for the lookups that it had joined. Returns those that nobody waits for any more.
  mutating func leave(_ wait: DecisionWait, _ joined: Set<UInt64>) -> [Task<Void, Never>] {
    var abandoned: [Task<Void, Never>] = []
    for identifier in joined {
      guard let lookup = lookups[identifier] else { continue }
      for resource in lookup.waits.keys { lookups[identifier]?.waits[resource]?.removeAll { $0 === wait } }
      guard !renewals.contains(identifier), lookups[identifier]?.waits.values.allSatisfy(\.isEmpty) == true else {
        continue
      }
      for resource in lookup.waits.keys where joinable[lookup.scope]?[resource] == identifier {
        close(resource, in: lookup.scope)
      }
      if let task = drop(identifier) { abandoned.append(task) }
    }
    return abandoned
  }

  /// What is being asked of what `selection`, whose names are `names`, means is remembered by nobody. Returns renewals that nobody needs any
  /// more.
  mutating func close(_ selection: DecisionSelection, _ names: Set<ResourceName>?) -> [Task<Void, Never>] {
    for scope in Array(joinable.keys) where selection.includes(scope) {
      guard let names else {
        joinable[scope] = nil
        continue
      }
      for name in names { close(name, in: scope) }
    }
    var abandoned: [Task<Void, Never>] = []
    for identifier in renewals {
      guard let lookup = lookups[identifier], selection.includes(lookup.scope) else { continue }
      for name in names ?? Set(lookup.waits.keys) where lookup.waits[name]?.isEmpty == true {
        lookups[identifier]?.waits[name] = nil
      }
      if lookups[identifier]?.waits.isEmpty == true, let task = drop(identifier) { abandoned.append(task) }
    }
    return abandoned
  }

  private mutating func drop(_ identifier: UInt64) -> Task<Void, Never>? {
    renewals.remove(identifier)
    return lookups.removeValue(forKey: identifier)?.task
  }

  private mutating func close(_ resource: ResourceName, in scope: DecisionScope) {
    joinable[scope]?[resource] = nil
    if joinable[scope]?.isEmpty == true { joinable[scope] = nil }
  }
}
