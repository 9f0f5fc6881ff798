import Glibc
import PosternSupport

/// A thread for the system calls of one file that may block, one after the other. A call that never returns keeps this
/// thread and its file, and nothing else: the task that waits can be cancelled.
final class BlockingThread: Sendable {
  private struct State {
    var call: (@Sendable () -> Void)?
    var isOver = false
    var hasThread = false
  }

  /// The state that the thread shares with its owner.
  private final class Core: @unchecked Sendable {
    // Sendable because the semaphore may be used by all threads, and the rest is behind the lock.
    let state = Locked(State())
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
      semaphore = .allocate(capacity: 1)
      sem_init(semaphore, 0, 0)
    }

    deinit {
      sem_destroy(semaphore)
      semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }

    func work() {
      while true {
        while sem_wait(semaphore) != 0 {}
        let (call, isOver) = state.withLock { state in (state.call.take(), state.isOver) }
        call?()
        if isOver { return }
      }
    }
  }

  private let core = Core()

  deinit {
    core.state.withLock { $0.isOver = true }
    core.signal()
  }

  /// Runs `call` on the thread and returns its result; nil when the calling task was cancelled, or there is no thread.
  /// What `call` uses must live as long as it does. One at a time.
  func run<Value: Sendable>(_ call: @escaping @Sendable () -> Value) async -> Value? {
    let reply = Reply<Value?>()
    let isStarted = core.state.withLock { state in
      guard state.hasThread || start() else { return false }
      state.hasThread = true
      state.call = { reply.fill(call()) }
      return true
    }
    guard isStarted else { return nil }
    core.signal()
    return await withTaskCancellationHandler {
      await reply.value()
    } onCancel: {
      reply.fill(nil)
    }
  }

  private func start() -> Bool {
    (try? SystemThread.start("postern-file") { [core] in core.work() }) != nil
  }
}
