/// Time, injected everywhere so that tests own it.
public protocol EngineClock: Sendable {
  /// The wall clock: what tokens and certificates speak about. May step.
  var wallNow: Timestamp { get }

  /// Time since boot, suspend included (CLOCK_BOOTTIME): what caches and deadlines use. Never steps.
  var monotonicNow: MonotonicInstant { get }

  /// Suspends for `duration`; throws `CancellationError` when the task is cancelled first.
  func sleep(for duration: Duration) async throws
}
