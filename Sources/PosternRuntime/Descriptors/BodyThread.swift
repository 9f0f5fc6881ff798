import CPosternLinux
import Glibc
import PosternSupport

/// The thread that reads or writes one passed descriptor.
///
/// No system call on a caller's descriptor is certain not to block, non-blocking ones included: the caller may make the
/// kernel wait, while it has locked the file, for memory that a process of its own provides. Such a call keeps this
/// thread and its descriptor, and nothing else: the task that waits for it is cancelled, or its patience ends.
final class BodyThread: Sendable {
  /// How a call ended.
  enum Outcome<Value: Sendable>: Sendable {
    /// It returned.
    case value(Value)
    /// Nothing happened for as long as the fetch may take.
    case timedOut
    /// The calling task was cancelled.
    case cancelled
    /// The process has no thread or descriptor left.
    case unavailable
  }

  private let core: Core
  private let patience: Duration
  private let watchdog = Locked<Task<Void, Never>?>(nil)

  /// A thread that starts with the first call; a call without progress ends after `patience`.
  init(patience: Duration) {
    core = Core()
    self.patience = patience
  }

  deinit {
    watchdog.withLock { $0 }?.cancel()
    core.end()
  }

  /// Runs `call` on the thread; one at a time. What `call` uses must live as long as it does.
  func run<Value: Sendable>(_ call: @escaping @Sendable (Core) -> Value) async -> Outcome<Value> {
    let reply = Reply<Outcome<Value>>()
    let isStarted = core.start(
      call: { core in reply.fill(.value(call(core))) },
      giveUp: { isLate in reply.fill(isLate ? .timedOut : .cancelled) })
    guard isStarted else { return .unavailable }
    watch()
    return await withTaskCancellationHandler {
      await reply.value()
    } onCancel: {
      core.cancel()
    }
  }

  /// The value of `call`; what kept it from returning, as an error.
  func result<Value: Sendable>(_ call: @escaping @Sendable (Core) -> Value) async throws(DescriptorError) -> Value {
    switch await run(call) {
    case .value(let value): return value
    case .timedOut, .cancelled: throw .silent
    case .unavailable: throw .exhausted
    }
  }

  private func watch() {
    watchdog.withLock { watchdog in
      guard watchdog == nil else { return }
      watchdog = Task { [weak core, patience] in
        while !Task.isCancelled, let rest = core?.check(patience) { try? await Task.sleep(for: rest) }
      }
    }
  }
}

extension BodyThread {
  /// The state that the thread shares with its owner.
  final class Core: Sendable {
    private struct State {
      var call: (@Sendable (Core) -> Void)?
      /// Ends the wait for the current call; whether it is late.
      var giveUp: (@Sendable (Bool) -> Void)?
      /// The number of the latest call, and of the one that the thread is in.
      var latest = 0
      var running = 0
      var movedAt = MonotonicInstant(nanoseconds: 0)
      var hasThread = false
      var isOver = false

      /// Whether the task that waits for the thread's call still does.
      var isAwaited: Bool { !isOver && running == latest && giveUp != nil }

      /// The call for the thread, with its number.
      mutating func take() -> (call: @Sendable (Core) -> Void, number: Int)? {
        guard let call = call.take() else { return nil }
        running = latest
        return (call, latest)
      }
    }

    private let worker = WorkerThread(State())
    /// Ends a wait of the thread; negative where there is none.
    private let wakeup = clinux_wakeup_open()
    private let clock = SystemClock()

    fileprivate init() {}

    deinit { if wakeup >= 0 { close(wakeup) } }

    /// Waits until `descriptor` is ready, or may be; false when the call is awaited no more. On the thread.
    func wait(for descriptor: PassedDescriptor, isWriting: Bool) -> Bool {
      while worker.withInbox({ $0.isAwaited }) {
        if clinux_wait(descriptor.number, isWriting ? 1 : 0, wakeup) != 0 { return true }
        clinux_wakeup_clear(wakeup)
      }
      return false
    }

    /// Something was read or written. On the thread.
    func moved() { worker.withInbox { $0.movedAt = clock.monotonicNow } }

    fileprivate func start(
      call: @escaping @Sendable (Core) -> Void, giveUp: @escaping @Sendable (Bool) -> Void
    ) -> Bool {
      worker.submit { state in
        guard wakeup >= 0, state.hasThread || startThread() else { return false }
        state.hasThread = true
        state.latest += 1
        (state.call, state.giveUp, state.movedAt) = (call, giveUp, clock.monotonicNow)
        return true
      } ?? false
    }

    /// The task that waits for the current call was cancelled; another call may follow.
    fileprivate func cancel() {
      worker.withInbox { $0.giveUp.take() }?(false)
      if wakeup >= 0 { clinux_wakeup_signal(wakeup) }
    }

    /// Ends the body: the thread ends with the call that it is in.
    fileprivate func end(isLate: Bool = false) {
      // A call that has not begun is let go without the lock.
      let (giveUp, _) = worker.stop { state in
        state.isOver = true
        return (state.giveUp.take(), state.call.take())
      }
      giveUp?(isLate)
      if wakeup >= 0 { clinux_wakeup_signal(wakeup) }
    }

    /// How long to wait before the next look; nil when the body is over, or has been ended for its lateness.
    fileprivate func check(_ patience: Duration) -> Duration? {
      let (rest, isOver) = worker.withInbox { state -> (Duration, Bool) in
        (state.giveUp == nil ? patience : patience - (clock.monotonicNow - state.movedAt), state.isOver)
      }
      guard !isOver else { return nil }
      guard rest > .zero else {
        end(isLate: true)
        return nil
      }
      return rest
    }

    private func startThread() -> Bool {
      (try? worker.start("postern-body") { self.work() }) != nil
    }

    private func work() {
      while let (call, number) = worker.next({ $0.take() }) {
        call(self)
        // Unless it was given up, and another one has been given meanwhile.
        worker.withInbox { state in if state.latest == number { state.giveUp = nil } }
      }
    }
  }
}
