/// Lets any number of callers wait for one run of an operation per key.
///
/// The run belongs to nobody: once begun it goes to its end, whoever still waits, because an answer that is thrown away
/// may be one that cannot be had twice (a rotating token). Each waiter can be cancelled and has a deadline of its own.
/// The state is behind a lock; continuations are resumed outside of it, each exactly once.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable, Failure: Error>: Sendable {
  private typealias Waiter = CheckedContinuation<Result<Value, SingleFlightError<Failure>>, Never>

  private struct State {
    var waiters: [Key: [UInt64: Waiter]] = [:]
    var nextIdentifier: UInt64 = 0
  }

  private let state = Locked(State())
  private let clock: any EngineClock

  /// No runs yet; `clock` measures the waiters' deadlines.
  public init(clock: any EngineClock) { self.clock = clock }

  /// How many callers wait for the run of `key`; nil when none is under way.
  public func waiterCount(for key: Key) -> Int? { state.withLock { $0.waiters[key]?.count } }

  /// The outcome of the run for `key` that is under way, or else of `operation`, begun now.
  ///
  /// `operation` should look at its cache first: between this caller's own look and the start of the run another one
  /// may have ended.
  public func value(
    for key: Key,
    deadline: Deadline = .never,
    _ operation: @escaping @Sendable () async throws(Failure) -> Value
  ) async throws(SingleFlightError<Failure>) -> Value {
    guard !Task.isCancelled else { throw .cancelled }
    let remaining = deadline.instant.map { $0 - clock.monotonicNow }
    if let remaining, remaining <= .zero { throw .deadlineExceeded }
    let identifier = state.withLock { state in
      state.nextIdentifier += 1
      return state.nextIdentifier
    }
    let timer = remaining.map { remaining in
      Task { [clock] in
        guard (try? await clock.sleep(for: remaining)) != nil else { return }
        leave(key, identifier, because: .deadlineExceeded)
      }
    }
    defer { timer?.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Waiter) in
        join(key, identifier, waiter, operation)
        // The handler below may have run before there was anybody to wake, and so may the timer.
        if Task.isCancelled { leave(key, identifier, because: .cancelled) }
        if deadline.instant.map({ $0 <= clock.monotonicNow }) == true {
          leave(key, identifier, because: .deadlineExceeded)
        }
      }
    } onCancel: {
      leave(key, identifier, because: .cancelled)
    }
    return try result.get()
  }

  private func join(
    _ key: Key, _ identifier: UInt64, _ waiter: Waiter,
    _ operation: @escaping @Sendable () async throws(Failure) -> Value
  ) {
    let isFirst = state.withLock { state in
      let isFirst = state.waiters[key] == nil
      state.waiters[key, default: [:]][identifier] = waiter
      return isFirst
    }
    guard isFirst else { return }
    Task {
      let outcome: Result<Value, SingleFlightError<Failure>>
      do throws(Failure) {
        outcome = .success(try await operation())
      } catch {
        outcome = .failure(.failed(error))
      }
      let waiters = state.withLock { $0.waiters.removeValue(forKey: key) ?? [:] }
      for waiter in waiters.values { waiter.resume(returning: outcome) }
    }
  }

  private func leave(_ key: Key, _ identifier: UInt64, because error: SingleFlightError<Failure>) {
    let waiter = state.withLock { $0.waiters[key]?.removeValue(forKey: identifier) }
    waiter?.resume(returning: .failure(error))
  }
}

/// Why a waiter of a `SingleFlight` has no value.
public enum SingleFlightError<Failure: Error>: Error {
  /// The run ended with this.
  case failed(Failure)
  /// The waiting task was cancelled; the run goes on.
  case cancelled
  /// The waiter's deadline passed; the run goes on.
  case deadlineExceeded
}
