import HTTPMessages
import PosternSupport

/// Coordinates a call with what it waits for: one wait at a time, which ends once, perhaps before the call waits.
///
/// Cancelling the call cancels this wait and all later ones; the call continues when the current wait has ended.
final class CallTurn: Sendable {
  private enum Running {
    case task(Task<Void, Never>)
    case transfer(any TransferHandle)

    func cancel() {
      switch self {
      case .task(let task): task.cancel()
      case .transfer(let handle): handle.cancel()
      }
    }
  }

  private enum Waiter {
    case task(UnsafeContinuation<Void, Never>)
    case work(any PostedWork)
  }

  private struct State {
    var isCancelled = false
    /// Whether what the call waits for has ended before the call waited.
    var hasEnded = false
    var running: Running?
    /// Runs beside the call, and is cancelled with it.
    var companion: Task<Void, Never>?
    var waiter: Waiter?
  }

  /// For tests: whether each step is followed by a wait.
  let waits: Bool
  private let executor: (any TaskExecutor)?
  private let poster: (any WorkPoster)?
  private let state = Locked(State())

  /// Tasks that are waited for run on `executor`; nil: where the runtime runs tasks. A call without a task continues
  /// behind a transfer on `poster`, else on `executor`, else where the transport ends it.
  init(on executor: (any TaskExecutor)?, _ poster: (any WorkPoster)?, waits: Bool) {
    self.executor = executor
    self.poster = poster
    self.waits = waits
  }

  /// Whether the call is cancelled.
  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  // MARK: - What is waited for

  /// Starts `work` in a task, which runs on the caller's thread until it first suspends.
  func await(_ work: @escaping @Sendable () async -> Void) {
    let task = start {
      await work()
      self.end(isOnExecutor: true)
    }
    keep(.task(task))
  }

  /// Starts a transfer; `start` gets what is called when it has ended.
  func transfer(_ start: (_ whenEnded: @escaping @Sendable () -> Void) -> (any TransferHandle)?) {
    guard let handle = start({ self.end(isOnExecutor: false) }) else { return }
    keep(.transfer(handle))
  }

  /// Starts `work` in a task that runs beside the call.
  func accompany(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    // Not on the calling thread, which may be the transport's.
    let task = Task(executorPreference: executor) { await work() }
    let isCancelled = state.withLock { state in
      state.companion = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
    return task
  }

  private func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task.immediate(executorPreference: executor) {
      // Before the first thing that could look at it.
      if self.isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
      await work()
    }
  }

  private func keep(_ running: Running) {
    let mustEnd = state.withLock { state in
      guard !state.hasEnded else { return false }
      state.running = running
      return state.isCancelled
    }
    if mustEnd { running.cancel() }
  }

  /// Cancels what runs, and what will run.
  func cancel() {
    let (running, companion) = state.withLock { state in
      state.isCancelled = true
      return (state.running, state.companion)
    }
    running?.cancel()
    companion?.cancel()
  }

  // MARK: - Waiting

  /// Returns when what is waited for has ended.
  func wait() async {
    await withUnsafeContinuation { continuation in
      if hasEnded(orElse: .task(continuation)) { continuation.resume() }
    }
  }

  /// Whether what is waited for has ended already; else `work` is done when it has.
  func hasEnded(orElse work: any PostedWork) -> Bool { hasEnded(orElse: .work(work)) }

  private func hasEnded(orElse waiter: Waiter) -> Bool {
    state.withLock { state in
      guard !state.hasEnded else {
        state.hasEnded = false
        return true
      }
      state.waiter = waiter
      return false
    }
  }

  private func end(isOnExecutor: Bool) {
    let waiter = state.withLock { state -> Waiter? in
      state.running = nil
      state.hasEnded = state.waiter == nil
      return state.waiter.take()
    }
    switch waiter {
    case .task(let continuation): continuation.resume()
    case .work(let work):
      // Not on the transport's thread, which serves everybody.
      if isOnExecutor {
        work.runPosted()
      } else if let poster {
        poster.post(work)
      } else if let executor {
        Task(executorPreference: executor) { work.runPosted() }
      } else {
        work.runPosted()
      }
    case nil: break
    }
  }
}
