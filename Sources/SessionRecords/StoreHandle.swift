import PosternSupport

/// An open store and how many calls are at work on it: it is closed when the last of them is done.
final class StoreHandle: Sendable {
  private struct State {
    var users = 0
    var isEnding = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  let store: any RecordStore
  private let state = Locked(State())

  init(_ store: any RecordStore) { self.store = store }

  /// A call begins; false when it has to wait for the store's successor.
  func enter() -> Bool {
    state.withLock { state in
      guard !state.isEnding else { return false }
      state.users += 1
      return true
    }
  }

  /// A call has ended.
  func leave() {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.users -= 1
      guard state.isEnding, state.users == 0 else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Takes no more calls, waits for those at work, and closes the store. Called once.
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
