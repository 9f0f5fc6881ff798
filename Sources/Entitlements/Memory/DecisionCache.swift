import PosternSupport

/// The ledger of what is known and what is being asked, behind one lock. Waits are resumed and tasks cancelled outside
/// of it.
final class DecisionCache: Sendable {
  private let ledger: Locked<InFlightDecisions>

  init(memory: DecisionMemory = DecisionMemory()) { ledger = Locked(InFlightDecisions(memory: memory)) }

  /// How many decisions are kept.
  var count: Int { ledger.withLock { $0.memory.count } }

  /// How many lookups are under way.
  var lookupCount: Int { ledger.withLock { $0.lookups.count } }

  /// Looks `resources` up, has `wait` join what is being asked, and begins lookups of the rest and of what is to be
  /// renewed.
  ///
  /// Without the local cache nothing is read, and nothing joined that began before.
  func begin(
    _ resources: [ResourceName], in scope: DecisionScope, disabled: Set<PreauthorizeRequest.Feature>,
    at now: MonotonicInstant, _ wait: DecisionWait
  ) -> InFlightDecisions.Beginning {
    ledger.withLock { $0.begin(resources, in: scope, disabled: disabled, at: now, wait) }
  }

  /// The task that carries the lookup out; it is cancelled when everybody has left already.
  func carry(_ identifier: UInt64, by task: Task<Void, Never>) {
    let isWanted = ledger.withLock { ledger in
      guard ledger.lookups[identifier] != nil else { return false }
      ledger.lookups[identifier]?.task = task
      return true
    }
    if !isWanted { task.cancel() }
  }

  /// Decisions have come. False when nobody wants them any more: what was asked has been forgotten, or all have left.
  func resolve(_ identifier: UInt64, _ decisions: [(ResourceName, KeptDecision)]) -> Bool {
    guard let (waiters, decisions) = ledger.withLock({ $0.resolve(identifier, decisions) }) else { return false }
    for waiter in waiters { waiter.deliver(decisions) }
    return true
  }

  /// A call is over that had joined lookups. Those that nobody waits for any more end.
  func leave(_ wait: DecisionWait, _ joined: Set<UInt64>) {
    let abandoned = ledger.withLock { $0.leave(wait, joined) }
    for task in abandoned { task.cancel() }
  }

  /// Forgets what `selection` names, and what is being asked about it; tells how many decisions were kept. A part at a
  /// time: whoever has very many and has them looked through again and again keeps others waiting for one part at most.
  func remove(_ selection: DecisionSelection) -> Int {
    let names = selection.names
    return (0..<DecisionScope.parts).reduce(0) { count, part in count + remove(selection, names, part: part) }
  }

  /// As `remove`, and after each part it is somebody else's turn on this thread.
  func removeInTurns(_ selection: DecisionSelection) async -> Int {
    let names = selection.names
    var count = 0
    for part in 0..<DecisionScope.parts {
      count += remove(selection, names, part: part)
      await Task.yield()
    }
    return count
  }

  private func remove(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) -> Int {
    let (removed, abandoned) = ledger.withLock { ledger in
      // What is being asked first: nothing of it is remembered after this.
      let abandoned = ledger.close(selection, names, part: part)
      return (ledger.memory.remove(selection, names, part: part), abandoned)
    }
    for task in abandoned { task.cancel() }
    return removed
  }
}
