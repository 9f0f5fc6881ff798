import Support

/// What is known and what is being asked: the memory, and one lookup for each resource however many calls wait for it.
///
/// A lookup belongs to nobody and ends early only when nobody waits for it any more. What is purged, or asked anew around the memory, is
/// joined by no later call and remembered by none. Everything is behind one lock; waits are resumed outside of it.
final class DecisionBoard: Sendable {
  private struct Lookup {
    let scope: DecisionScope
    let bypassesRemoteCache: Bool
    /// Who waits for what; resources that are answered are gone.
    var waits: [ResourceName: [DecisionWait]]
    var task: Task<Void, Never>?
  }

  private struct State {
    var memory: DecisionMemory
    var lookups: [UInt64: Lookup] = [:]
    /// Which lookup a call may join.
    var joinable: [DecisionScope: [ResourceName: UInt64]] = [:]
    var lastIdentifier: UInt64 = 0
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
  }

  private let state: Locked<State>

  init(memory: DecisionMemory = DecisionMemory()) { state = Locked(State(memory: memory)) }

  /// How many decisions are kept.
  var count: Int { state.withLock { $0.memory.count } }

  /// How many lookups are under way.
  var lookupCount: Int { state.withLock { $0.lookups.count } }

  /// What is remembered, in the order of `resources`.
  func known(_ resources: [ResourceName], in scope: DecisionScope, at now: MonotonicInstant) -> [KeptDecision?] {
    state.withLock { $0.memory.decisions(about: resources, in: scope, at: now) }
  }

  /// Looks `resources` up, has `wait` join what is being asked, and begins a lookup of the rest.
  ///
  /// Without the local cache nothing is read, and nothing joined that began before.
  func begin(
    _ resources: [ResourceName], in scope: DecisionScope, disabled: Set<PreauthorizeRequest.Feature>,
    at now: MonotonicInstant, _ wait: DecisionWait
  ) -> Beginning {
    state.withLock { state in
      let isLocal = !disabled.contains(.localCache)
      let bypasses = disabled.contains(.remoteCache)
      let known =
        isLocal
        ? state.memory.decisions(about: resources, in: scope, at: now) : Array(repeating: nil, count: resources.count)
      var beginning = Beginning(known: known)
      for (resource, kept) in zip(resources, known) where kept == nil {
        beginning.awaited += 1
        if isLocal, let identifier = state.joinable[scope]?[resource],
          state.lookups[identifier].map({ $0.bypassesRemoteCache || !bypasses }) == true
        {
          state.lookups[identifier]?.waits[resource]?.append(wait)
        } else {
          beginning.missing.append(resource)
        }
      }
      guard !beginning.missing.isEmpty else { return beginning }
      state.lastIdentifier += 1
      let identifier = state.lastIdentifier
      var waits: [ResourceName: [DecisionWait]] = [:]
      for resource in beginning.missing {
        waits[resource] = [wait]
        state.joinable[scope, default: [:]][resource] = identifier
      }
      state.lookups[identifier] = Lookup(scope: scope, bypassesRemoteCache: bypasses, waits: waits)
      beginning.lookup = identifier
      return beginning
    }
  }

  /// The task that carries the lookup out; it is cancelled when everybody has left already.
  func carry(_ identifier: UInt64, by task: Task<Void, Never>) {
    let isWanted = state.withLock { state in
      guard state.lookups[identifier] != nil else { return false }
      state.lookups[identifier]?.task = task
      return true
    }
    if !isWanted { task.cancel() }
  }

  /// Decisions have come; they are remembered where they may be, and nothing has happened meanwhile that makes them old.
  func resolve(_ identifier: UInt64, _ decisions: [(ResourceName, KeptDecision)]) {
    let deliveries = state.withLock { state -> [(DecisionWait, ResourceName, KeptDecision)] in
      guard let scope = state.lookups[identifier]?.scope else { return [] }
      var deliveries: [(DecisionWait, ResourceName, KeptDecision)] = []
      for (resource, decision) in decisions {
        for wait in state.lookups[identifier]?.waits.removeValue(forKey: resource) ?? [] {
          deliveries.append((wait, resource, decision))
        }
        guard state.joinable[scope]?[resource] == identifier else { continue }
        Self.close(&state, scope, resource)
        if decision.expiry != nil {
          state.memory.keep(decision, about: resource, in: scope)
        } else if decision.verdict.isDecided {
          // A newer word than the one that is kept.
          state.memory.remove(resource, in: scope)
        }
      }
      if state.lookups[identifier]?.waits.isEmpty == true { state.lookups[identifier] = nil }
      return deliveries
    }
    for (wait, resource, decision) in deliveries { wait.deliver(decision, about: resource) }
  }

  /// A call waits no longer. Lookups that nobody waits for any more end.
  func leave(_ wait: DecisionWait) {
    let abandoned = state.withLock { state in
      var abandoned: [Task<Void, Never>] = []
      for (identifier, lookup) in state.lookups {
        var waits = lookup.waits
        for (resource, waiting) in waits { waits[resource] = waiting.filter { $0 !== wait } }
        state.lookups[identifier]?.waits = waits
        guard waits.values.allSatisfy(\.isEmpty) else { continue }
        for resource in waits.keys where state.joinable[lookup.scope]?[resource] == identifier {
          Self.close(&state, lookup.scope, resource)
        }
        state.lookups[identifier] = nil
        if let task = lookup.task { abandoned.append(task) }
      }
      return abandoned
    }
    for task in abandoned { task.cancel() }
  }

  /// Forgets what `selection` names, and what is being asked about it; tells how many decisions were kept.
  func remove(_ selection: DecisionSelection) -> Int {
    state.withLock { state in
      for scope in Array(state.joinable.keys) where selection.includes(scope) {
        guard let resources = selection.resources else {
          state.joinable[scope] = nil
          continue
        }
        for resource in resources { Self.close(&state, scope, ResourceName(resource)) }
      }
      return state.memory.remove(selection)
    }
  }

  private static func close(_ state: inout State, _ scope: DecisionScope, _ resource: ResourceName) {
    state.joinable[scope]?[resource] = nil
    if state.joinable[scope]?.isEmpty == true { state.joinable[scope] = nil }
  }
}
