/// Something that is being asked, and who waits for it.
struct DecisionLookup: Sendable {
  /// A call that joined and is not over.
  struct Waiter: Sendable {
    let wait: DecisionWait
    /// What it waits for.
    let wanted: Set<ResourceName>

    /// Hands it what of `decisions` it waits for.
    func deliver(_ decisions: [(ResourceName, KeptDecision)]) {
      wait.deliver(decisions.lazy.filter { wanted.contains($0.0) })
    }
  }

  let scope: DecisionScope
  let bypassesRemoteCache: Bool
  /// What is not answered yet.
  var pending: Set<ResourceName>
  /// By call and not by resource: a call that leaves costs the same however much it asked about.
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
