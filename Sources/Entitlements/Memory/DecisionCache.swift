import PosternSupport

/// The cached decisions and the lookups in flight, behind one lock. Waiters are resumed and tasks cancelled outside of
/// the lock.
final class DecisionCache: Sendable {
  private let state: Locked<InFlightDecisions>

  init(memory: CachedDecisions = CachedDecisions()) { state = Locked(InFlightDecisions(memory: memory)) }

  /// The number of cached decisions.
  var count: Int { state.withLock { $0.memory.count } }

  /// The number of lookups in flight.
  var lookupCount: Int { state.withLock { $0.lookups.count } }

  /// Looks `resources` up in the cache, joins `wait` to lookups in flight, and starts lookups of the rest and
  /// refreshes.
  ///
  /// Without the local cache nothing is read from it, and no lookup is joined that started earlier.
  func begin(
    _ resources: [ResourceName], in scope: DecisionScope, disabled: Set<PreauthorizeRequest.Feature>,
    at now: MonotonicInstant, _ wait: DecisionWait
  ) -> InFlightDecisions.Plan {
    state.withLock { $0.begin(resources, in: scope, disabled: disabled, at: now, wait) }
  }

  /// Registers the task that carries the lookup out; it is cancelled when all waiters have left already.
  func carry(_ identifier: UInt64, by task: Task<Void, Never>) {
    let isWanted = state.withLock { state in
      guard state.lookups[identifier] != nil else { return false }
      state.lookups[identifier]?.task = task
      return true
    }
    if !isWanted { task.cancel() }
  }

  /// Delivers decisions. False when the lookup is gone: its decisions were removed, or all waiters have left.
  func resolve(_ identifier: UInt64, _ decisions: [(ResourceName, CachedDecision)]) -> Bool {
    guard let (waiters, decisions) = state.withLock({ $0.resolve(identifier, decisions) }) else { return false }
    for waiter in waiters { waiter.deliver(decisions) }
    return true
  }

  /// Ends a call that had joined lookups; lookups without a waiter are cancelled.
  func leave(_ wait: DecisionWait, _ joined: Set<UInt64>) {
    let abandoned = state.withLock { $0.leave(wait, joined) }
    for task in abandoned { task.cancel() }
  }

  /// Removes the decisions that `selection` names, and detaches the lookups of them; returns how many decisions were
  /// cached. One part at a time: a caller with very many decisions keeps the lock for one part at most.
  func remove(_ selection: DecisionSelection) -> Int {
    let names = selection.names
    return (0..<DecisionScope.parts).reduce(0) { count, part in count + remove(selection, names, part: part) }
  }

  /// Does what `remove` does, and yields the thread after each part.
  func removeInParts(_ selection: DecisionSelection) async -> Int {
    let names = selection.names
    var count = 0
    for part in 0..<DecisionScope.parts {
      count += remove(selection, names, part: part)
      await Task.yield()
    }
    return count
  }

  private func remove(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) -> Int {
    let (removed, abandoned) = state.withLock { state in
      // Lookups first: nothing of them is cached after this.
      let abandoned = state.close(selection, names, part: part)
      return (state.memory.remove(selection, names, part: part), abandoned)
    }
    for task in abandoned { task.cancel() }
    return removed
  }
}

/// One call that waits for decisions, of its own lookups and of others'. Its state is behind a lock; it is resumed
/// once, outside of the lock.
final class DecisionWait: Sendable {
  private struct State {
    var arrived: [ResourceName: CachedDecision] = [:]
    /// The number of decisions it waits for; nil until that is known.
    var expected: Int?
    var isOver = false
    var continuation: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  init() {}

  /// Takes decisions that have arrived, unless the wait is over.
  func deliver(_ decisions: some Sequence<(ResourceName, CachedDecision)>) {
    wake { state in
      guard !state.isOver else { return }
      for (resource, decision) in decisions { state.arrived[resource] = decision }
    }
  }

  /// Ends the wait with what has arrived.
  func end() { wake { $0.isOver = true } }

  /// Returns what has arrived once `count` decisions have, or the wait was ended.
  func decisions(_ count: Int) async -> [ResourceName: CachedDecision] {
    await withCheckedContinuation { continuation in
      let isDone = state.withLock { state in
        state.expected = count
        if state.isOver || state.arrived.count >= count { return true }
        state.continuation = continuation
        return false
      }
      if isDone { continuation.resume() }
    }
    return state.withLock { $0.arrived }
  }

  private func wake(_ change: (inout State) -> Void) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
      change(&state)
      guard state.isOver || state.expected.map({ state.arrived.count >= $0 }) == true else { return nil }
      defer { state.continuation = nil }
      return state.continuation
    }
    continuation?.resume()
  }
}
