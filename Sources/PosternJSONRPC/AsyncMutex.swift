import PosternSupport

/// A mutex that tasks wait for in order of arrival. With it the responses of one connection are written one after the
/// other, so that large ones wait for the peer instead of accumulating in memory.
final class AsyncMutex: Sendable {
  private struct State {
    var isLocked = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  /// Waits for the mutex; `unlock` must follow.
  func lock() async {
    // Nearly always free: no continuation then.
    if tryLock() { return }
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.isLocked {
          state.waiters.append(continuation)
          return false
        }
        state.isLocked = true
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  /// Takes the mutex if it is free; `unlock` must follow then.
  func tryLock() -> Bool {
    state.withLock { state in
      guard !state.isLocked else { return false }
      state.isLocked = true
      return true
    }
  }

  /// Passes the mutex to the next task.
  func unlock() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.waiters.isEmpty else {
        state.isLocked = false
        return nil
      }
      return state.waiters.removeFirst()
    }
    next?.resume()
  }
}
