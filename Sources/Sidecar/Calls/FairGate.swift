import PosternSupport

/// Lets so many calls be under way at a time, and shares the places fairly: between uids, and between the connections
/// of each.
///
/// Nobody may have more than three times what is still free, a connection not more than three times what is free for
/// its uid: there is always a place for somebody who has none (dynamic thresholds, as switches share their buffers).
/// Who must wait waits in order on its connection, in a bounded queue and for a bounded time; a place goes to whoever
/// has least. While there is room nothing waits.
final class FairGate: Sendable {
  /// Why a call may not go. None of them has done anything.
  enum Refusal: String, Error, Sendable {
    /// As many wait as may.
    case full = "queue"
    /// It has waited for as long as anybody may.
    case late = "queue_time"
    /// Its own deadline passed.
    case deadlinePassed
    /// Its task was cancelled.
    case cancelled
  }

  /// The bounds, as the configuration in force has them.
  struct Limits: Sendable, Hashable {
    /// Calls under way.
    var inFlight: Int
    /// Calls that wait.
    var queue: Int
    /// How long a call waits at most.
    var patience: Duration
  }

  private let state: Locked<GateState>
  private let clock: any EngineClock
  /// How often those who wait are looked at for whose time is over.
  private static let interval = Duration.milliseconds(20)

  init(_ limits: Limits, clock: any EngineClock) {
    self.clock = clock
    state = Locked(GateState(limits: limits))
  }

  /// How many wait.
  var waitingCount: Int { state.withLock { $0.waitingCount } }
  /// How many are under way.
  var inFlightCount: Int { state.withLock { $0.inFlight } }

  /// Takes a place, waiting for one if need be; `leave` must follow. How long it waited.
  func enter(_ holder: Requester, until deadline: Deadline) async throws(Refusal) -> Duration {
    if state.withLock({ $0.enterNow(holder) }) { return .zero }
    let came = clock.monotonicNow
    let number = state.withLock { $0.takeNumber() }
    let refusal = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Refusal?, Never>) in
        let (granted, mustSweep) = state.withLock { state -> ([GateState.Settled], Bool) in
          let waiter = GateState.Waiter(
            number: number, lateAt: came + state.limits.patience, deadline: deadline.instant,
            continuation: continuation)
          return (state.wait(waiter, holder), state.beginSweeping())
        }
        Self.resume(granted)
        if mustSweep { Task { await sweep() } }
        // Cancelled before there was anybody to wake.
        if Task.isCancelled { giveUp(number, holder) }
      }
    } onCancel: {
      giveUp(number, holder)
    }
    if let refusal { throw refusal }
    return clock.monotonicNow - came
  }

  /// Other bounds from now on, also for those who wait.
  func use(_ limits: Limits) { Self.resume(state.withLock { $0.use(limits) }) }

  /// Gives a place back.
  func leave(_ holder: Requester) { Self.resume(state.withLock { $0.leave(holder) }) }

  private func giveUp(_ number: UInt64, _ holder: Requester) {
    if let waiter = state.withLock({ $0.remove(number, holder) }) { waiter.resume(returning: .cancelled) }
  }

  /// Ends the waits whose time is over, as long as anybody waits.
  private func sweep() async {
    while true {
      let slept: Void? = try? await clock.sleep(for: Self.interval)
      let now = clock.monotonicNow
      let (ended, isOver) = state.withLock { state -> ([GateState.Settled], Bool) in
        let ended = state.expire(at: slept == nil ? nil : now)
        return (ended, state.endSweeping())
      }
      Self.resume(ended)
      if isOver { return }
    }
  }

  private static func resume(_ settled: [GateState.Settled]) {
    for one in settled { one.waiter.resume(returning: one.refusal) }
  }
}
