import PosternSupport

/// One call that waits for decisions, of its own lookups and of others'. Its state is behind a lock; it is resumed
/// once, outside of it.
final class DecisionWait: Sendable {
  private struct State {
    var arrived: [ResourceName: KeptDecision] = [:]
    /// How many it waits for; nil until that is known.
    var expected: Int?
    var isOver = false
    var continuation: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  init() {}

  /// Decisions have arrived. Who does not wait any more takes none.
  func deliver(_ decisions: some Sequence<(ResourceName, KeptDecision)>) {
    wake { state in
      guard !state.isOver else { return }
      for (resource, decision) in decisions { state.arrived[resource] = decision }
    }
  }

  /// Ends the wait, whatever has arrived.
  func end() { wake { $0.isOver = true } }

  /// What has arrived once `count` decisions have, or the wait was ended.
  func decisions(_ count: Int) async -> [ResourceName: KeptDecision] {
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
