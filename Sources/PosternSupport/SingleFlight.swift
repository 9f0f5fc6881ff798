/// Lets any number of callers wait for one run of an operation per key.
///
/// The run belongs to no caller: once started it is completed, whether or not a caller still waits, because a response
/// may be one that cannot be obtained twice (a rotating token). Each waiter can be cancelled and has a deadline of its
/// own. The state is behind a lock; waiters are answered outside of it.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable, Failure: Error>: Sendable {
  private typealias Waiter = Reply<Result<Value, Failure>>

  private struct Run {
    let identifier: UInt64
    var waiters: [UInt64: Waiter] = [:]
    var task: Task<Void, Never>?
  }

  private struct State {
    var runs: [Key: Run] = [:]
    var nextIdentifier: UInt64 = 0
  }

  private let state = Locked(State())
  private let clock: any EngineClock

  private let cancelsAbandonedRuns: Bool
  /// Whether callers of several uids wait for the same run.
  package let servesEverybody: Bool
  private let failure: @Sendable (EndedWait) -> Failure

  /// No runs yet; `clock` measures the waiters' deadlines, and `failure` is the error of a waiter that leaves before
  /// the run ends.
  ///
  /// With `cancelsAbandonedRuns` a run ends with its last waiter: for results that can be obtained again at any time,
  /// so that callers who leave cause no work. With `servesEverybody` callers of several uids wait for the same run: it
  /// does not wait in the queues of the uid that happened to start it.
  public init(
    clock: any EngineClock, cancelsAbandonedRuns: Bool = false, servesEverybody: Bool = false,
    failure: @escaping @Sendable (EndedWait) -> Failure
  ) {
    self.clock = clock
    self.failure = failure
    self.cancelsAbandonedRuns = cancelsAbandonedRuns
    self.servesEverybody = servesEverybody
  }

  /// How many callers wait for the run of `key`; nil when none is under way.
  public func waiterCount(for key: Key) -> Int? { state.withLock { $0.runs[key]?.waiters.count } }

  /// The outcome of the run for `key` that is under way, or else of `operation`, begun now.
  ///
  /// `operation` should look at its cache first: between this caller's own look and the start of the run another one
  /// may have ended. It runs on `executor`, the caller's, unless it serves everybody.
  public func value(
    for key: Key,
    deadline: Deadline = .never,
    on executor: (any TaskExecutor)? = nil,
    _ operation: @escaping @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard !Task.isCancelled else { throw failure(.cancelled) }
    let remaining = deadline.instant.map { $0 - clock.monotonicNow }
    if let remaining, remaining <= .zero { throw failure(.deadlineExceeded) }
    let identifier = state.withLock { state in
      state.nextIdentifier += 1
      return state.nextIdentifier
    }
    let waiter = Waiter()
    join(key, identifier, waiter, executor, operation)
    let timer = remaining.map { _ in
      Task { [clock] in
        // As much as is left now: this task may have waited for a thread.
        guard (try? await clock.sleep(for: deadline.remaining(on: clock) ?? .zero)) != nil else { return }
        leave(key, identifier, because: .deadlineExceeded)
      }
    }
    defer { timer?.cancel() }
    let result = await withTaskCancellationHandler {
      await waiter.value()
    } onCancel: {
      leave(key, identifier, because: .cancelled)
    }
    return try result.get()
  }

  private func join(
    _ key: Key, _ identifier: UInt64, _ waiter: Waiter, _ executor: (any TaskExecutor)?,
    _ operation: @escaping @Sendable () async throws(Failure) -> Value
  ) {
    let isFirst = state.withLock { state in
      let isFirst = state.runs[key] == nil
      state.runs[key, default: Run(identifier: identifier)].waiters[identifier] = waiter
      return isFirst
    }
    guard isFirst else { return }
    let task = Task(executorPreference: servesEverybody ? nil : executor) { [self] in
      let outcome = await Self.outcome(of: operation)
      // An abandoned run may have a successor by now: its waiters are not this one's.
      let run = state.withLock { state in
        state.runs[key]?.identifier == identifier ? state.runs.removeValue(forKey: key) : nil
      }
      for waiter in (run?.waiters ?? [:]).values { waiter.fill(outcome) }
    }
    guard cancelsAbandonedRuns else { return }
    let isAbandoned = state.withLock { state in
      guard state.runs[key]?.identifier == identifier else { return true }
      state.runs[key]?.task = task
      return false
    }
    // It has ended, or everybody left before it could be noted down.
    if isAbandoned { task.cancel() }
  }

  private static func outcome(
    of operation: @Sendable () async throws(Failure) -> Value
  ) async -> Result<Value, Failure> {
    do throws(Failure) {
      return .success(try await operation())
    } catch {
      return .failure(error)
    }
  }

  private func leave(_ key: Key, _ identifier: UInt64, because end: EndedWait) {
    let (waiter, abandoned) = state.withLock { state -> (Waiter?, Run?) in
      let waiter = state.runs[key]?.waiters.removeValue(forKey: identifier)
      guard cancelsAbandonedRuns, waiter != nil, state.runs[key]?.waiters.isEmpty == true else { return (waiter, nil) }
      return (waiter, state.runs.removeValue(forKey: key))
    }
    waiter?.fill(.failure(failure(end)))
    abandoned?.task?.cancel()
  }
}

/// Why a waiter of a `SingleFlight` left before the run ended.
public enum EndedWait: Error {
  /// The waiting task was cancelled; the run goes on.
  case cancelled
  /// The waiter's deadline passed; the run goes on.
  case deadlineExceeded
}

extension SingleFlight: ConciseStringConvertible {}
