import PosternSupport

/// An open store with the number of calls that use it: it is closed when the last of them has ended.
final class StoreHandle: Sendable {
  private struct State {
    var users = 0
    var isEnding = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  let store: any RecordStore
  private let state = Locked(State())

  init(_ store: any RecordStore) { self.store = store }

  /// Starts a call; false when it has to wait for the store's successor.
  func enter() -> Bool {
    state.withLock { state in
      guard !state.isEnding else { return false }
      state.users += 1
      return true
    }
  }

  /// Ends a call.
  func leave() {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.users -= 1
      guard state.isEnding, state.users == 0 else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Accepts no more calls, waits for those in progress, and closes the store. Called once.
  func end() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        state.isEnding = true
        guard state.users > 0 else { return true }
        state.waiter = continuation
        return false
      }
      if isIdle { continuation.resume() }
    }
    await store.close()
  }
}
