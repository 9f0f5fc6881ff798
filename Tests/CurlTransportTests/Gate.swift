import Glibc
import PosternSupport

/// A door between the threads of a test server and the tasks of a test: once open it stays open.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [CheckedContinuation<Void, Never>] = []
    var sleepers = 0
  }

  private let state = Locked(State())
  // The semaphore is made for use by many threads, and lives in memory that does not move.
  private nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func open() {
    let (waiters, sleepers) = state.withLock { state in
      state.isOpen = true
      defer {
        state.waiters = []
        state.sleepers = 0
      }
      return (state.waiters, state.sleepers)
    }
    for waiter in waiters { waiter.resume() }
    for _ in 0..<sleepers { sem_post(semaphore) }
  }

  /// For tasks.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiters.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  /// For threads.
  func waitOnThread() {
    let mustSleep = state.withLock { state in
      if !state.isOpen { state.sleepers += 1 }
      return !state.isOpen
    }
    if mustSleep { while sem_wait(semaphore) != 0 {} }
  }
}
