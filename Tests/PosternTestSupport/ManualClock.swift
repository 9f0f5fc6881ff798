public import PosternSupport

/// A clock that moves only when the test moves it; sleepers wake when their time has come.
public final class ManualClock: EngineClock {
  private struct Sleeper {
    let due: MonotonicInstant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var wall: Timestamp
    var monotonic: MonotonicInstant
    var nextIdentifier = 0
    var sleepers: [Int: Sleeper] = [:]
    var cancelledEarly: Set<Int> = []
  }

  private let state: Locked<State>

  /// A clock whose wall time is `wall`.
  public init(wall: Timestamp = Timestamp(secondsSinceEpoch: 1_800_000_000)) {
    state = Locked(State(wall: wall, monotonic: MonotonicInstant(nanoseconds: 1_000_000_000)))
  }

  /// The wall clock's time.
  public var wallNow: Timestamp { state.withLock { $0.wall } }

  /// The boot clock's time.
  public var monotonicNow: MonotonicInstant { state.withLock { $0.monotonic } }

  /// How many tasks sleep: wait for this before advancing.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// The remaining times of all sleepers, the shortest first: with them a test finds the sleeper it waits for.
  public var remainders: [Duration] {
    state.withLock { state in state.sleepers.values.map { $0.due - state.monotonic }.sorted() }
  }

  /// Moves both clocks and wakes who is due.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.wall = state.wall + duration
      state.monotonic = state.monotonic + duration
      let due = state.sleepers.filter { $0.value.due <= state.monotonic }
      for key in due.keys { state.sleepers[key] = nil }
      return due.values.sorted { $0.due < $1.due }
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Steps the wall clock alone, as an NTP correction would.
  public func stepWall(by duration: Duration) {
    state.withLock { $0.wall = $0.wall + duration }
  }

  /// Sleeps until the test has advanced the clock by `duration`.
  public func sleep(for duration: Duration) async throws {
    try Task.checkCancellation()
    if duration <= .zero { return }
    let identifier = state.withLock { state in
      state.nextIdentifier += 1
      return state.nextIdentifier
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let cancelled = state.withLock { state in
          if state.cancelledEarly.remove(identifier) != nil { return true }
          state.sleepers[identifier] = Sleeper(due: state.monotonic + duration, continuation: continuation)
          return false
        }
        if cancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        let sleeper = state.sleepers.removeValue(forKey: identifier)
        if sleeper == nil { state.cancelledEarly.insert(identifier) }
        return sleeper
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}
