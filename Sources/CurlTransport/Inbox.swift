import Glibc
import HTTPMessages
import PosternSupport

/// The requests of callers to the loop. The lock is the truth, waking the loop only a hint.
final class Inbox: Sendable {
  /// The requests that the loop takes out at once.
  struct Batch {
    var arrivals: [Exchange] = []
    var cancellations: [Exchange] = []
    /// The exchanges whose control has changed.
    var nudges: [Exchange] = []
    var isClosing = false

    /// Releases what was taken out.
    mutating func removeAll() {
      arrivals.removeAll(keepingCapacity: true)
      cancellations.removeAll(keepingCapacity: true)
      nudges.removeAll(keepingCapacity: true)
    }

    var isEmpty: Bool { arrivals.isEmpty && cancellations.isEmpty && nudges.isEmpty && !isClosing }
  }

  private struct State {
    var batch = Batch()
    /// The loop waits, or is about to: the first request must wake it.
    var isAsleep = false
    /// Threads between leaving the lock and the end of their wake-up: the multi handle must outlive them.
    var wakers = 0
    var statistics = CurlTransport.Statistics()
    /// How often the loop was found stuck: it cannot count that itself.
    var stalls = 0
    /// How many iterations the loop has started.
    var iterations: UInt64 = 0
    /// The loop is over: nothing of it is at work any more.
    var hasEnded = false
  }

  private let state = Locked(State())
  private let multi: MultiHandle

  init(multi: MultiHandle) { self.multi = multi }

  // MARK: - Callers

  /// Takes the exchange in, which ends with `whenEnded`; or returns why not, and then that is never called.
  func submit(_ exchange: Exchange, _ whenEnded: @escaping Exchange.End) -> TransportError? {
    let (error, mustWake) = state.withLock { state -> (TransportError?, Bool) in
      if state.batch.isClosing {
        return (TransportError(code: .cancelled, outcome: .notSent, detail: "the transport is closed"), false)
      }
      if exchange.isCancelled {
        return (TransportError(code: .cancelled, outcome: .notSent, detail: "cancelled before it began"), false)
      }
      exchange.hasArrived = true
      exchange.whenEnded = whenEnded
      state.batch.arrivals.append(exchange)
      return (nil, Self.startWaking(&state))
    }
    if mustWake { wake() }
    return error
  }

  /// Requests the end of the exchange; without effect when it has ended.
  func cancel(_ exchange: Exchange) {
    let mustWake = state.withLock { state in
      guard !exchange.isCancelled else { return false }
      exchange.isCancelled = true
      // Not here yet: `submit` will see the mark.
      guard exchange.hasArrived, !state.batch.isClosing else { return false }
      state.batch.cancellations.append(exchange)
      return Self.startWaking(&state)
    }
    if mustWake { wake() }
  }

  /// Notes that the exchange's control has changed; without effect when it has ended.
  func nudge(_ exchange: Exchange) {
    let mustWake = state.withLock { state in
      guard exchange.hasArrived, !state.batch.isClosing else { return false }
      state.batch.nudges.append(exchange)
      return Self.startWaking(&state)
    }
    if mustWake { wake() }
  }

  /// Requests the end of everything; nothing is taken in afterwards.
  func close() {
    let mustWake = state.withLock { state in
      state.batch.isClosing = true
      return Self.startWaking(&state)
    }
    if mustWake { wake() }
  }

  /// Wakes the loop, and returns how many iterations it has started.
  func wakeLoop() -> UInt64 {
    let (iterations, mustWake) = state.withLock { ($0.iterations, Self.startWaking(&$0)) }
    if mustWake { wake() }
    return iterations
  }

  var iterations: UInt64 { state.withLock { $0.iterations } }

  /// The iteration that the loop is in; nil while it waits, and after its end.
  var currentIteration: UInt64? { state.withLock { $0.isAsleep || $0.hasEnded ? nil : $0.iterations } }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// The loop did not come back from libcurl in time.
  func noteStall() { state.withLock { $0.stalls += 1 } }

  func statistics() -> CurlTransport.Statistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.exchanges.queued += state.batch.arrivals.count
      statistics.stalls = state.stalls
      return statistics
    }
  }

  private static func startWaking(_ state: inout State) -> Bool {
    guard state.isAsleep else { return false }
    state.isAsleep = false
    state.wakers += 1
    return true
  }

  private func wake() {
    multi.wakeUp()
    state.withLock { $0.wakers -= 1 }
  }

  // MARK: - The loop

  /// Moves everything out, into `batch`, which is empty and whose storage is taken over for the next round.
  func take(into batch: inout Batch) {
    state.withLock { state in
      state.isAsleep = false
      state.iterations &+= 1
      swap(&state.batch.arrivals, &batch.arrivals)
      swap(&state.batch.cancellations, &batch.cancellations)
      swap(&state.batch.nudges, &batch.nudges)
      batch.isClosing = state.batch.isClosing
    }
  }

  /// Whether the loop may wait: nothing came since it last looked. From here on each request wakes it.
  func fallAsleep(publishing statistics: CurlTransport.Statistics) -> Bool {
    state.withLock { state in
      state.statistics = statistics
      state.isAsleep = state.batch.isEmpty
      return state.isAsleep
    }
  }

  func publish(_ statistics: CurlTransport.Statistics) {
    state.withLock { $0.statistics = statistics }
  }

  /// The loop's last word.
  func end(publishing statistics: CurlTransport.Statistics) {
    state.withLock { state in
      state.statistics = statistics
      state.hasEnded = true
    }
  }

  /// Waits until no thread is about to wake the multi handle any more; only after `close()`, when no new waker can
  /// come.
  func awaitWakers() {
    while state.withLock({ $0.wakers }) > 0 { sched_yield() }
  }
}
