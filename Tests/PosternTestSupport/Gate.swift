import PosternSupport

/// Holds tasks back until a test opens it; cancellation does not get anybody through.
public final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  /// A closed gate.
  public init() {}

  /// How many tasks wait.
  public var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Lets everybody through, now and later.
  public func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits until the gate is open.
  public func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiters.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}

/// Lets other tasks and threads run until `condition` holds; false when it does not for longer than any machine
/// pauses.
public func eventually(_ condition: @Sendable () -> Bool) async -> Bool {
  let end = ContinuousClock.now + .seconds(30)
  while !condition() {
    guard ContinuousClock.now < end, !Task.isCancelled else { return condition() }
    await Task.yield()
  }
  return true
}
