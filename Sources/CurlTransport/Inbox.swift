import Glibc
import HTTPMessages
import PosternSupport

/// What callers want from the loop. The lock is the truth, waking the loop only a hint.
final class Inbox: Sendable {
  /// What the loop takes out in one go.
  struct Batch {
    var arrivals: [Exchange] = []
    var cancellations: [Exchange] = []
    /// Those whose control has changed.
    var nudges: [Exchange] = []
    var isClosing = false

    /// Lets go of what was taken out.
    mutating func removeAll() {
      arrivals.removeAll(keepingCapacity: true)
      cancellations.removeAll(keepingCapacity: true)
      nudges.removeAll(keepingCapacity: true)
    }

    var isEmpty: Bool { arrivals.isEmpty && cancellations.isEmpty && nudges.isEmpty && !isClosing }
  }

  private struct State {
    var batch = Batch()
    /// The loop waits, or is about to: who puts something in must wake it, and only the first needs to.
    var isAsleep = false
    /// Threads between leaving the lock and the end of their wake-up: the multi handle must outlive them.
    var wakers = 0
    var statistics = CurlTransport.Statistics()
    /// How often the loop was found stuck: it cannot count that itself.
    var stalls = 0
    /// How often the loop has looked in.
    var turns: UInt64 = 0
    /// The loop is over: nothing of it is at work any more.
    var hasEnded = false
  }

  private let state = Locked(State())
  private let multi: MultiHandle

  init(multi: MultiHandle) { self.multi = multi }

  // MARK: - Callers

  /// Takes the exchange in; or returns why not, and then the caller still owns the continuation.
  func submit(_ exchange: Exchange, _ continuation: Exchange.Continuation) -> TransportError? {
    let (refusal, mustWake) = state.withLock { state -> (TransportError?, Bool) in
      if state.batch.isClosing {
        return (TransportError(code: .cancelled, outcome: .notSent, detail: "the transport is closed"), false)
      }
      if exchange.isCancelled {
        return (TransportError(code: .cancelled, outcome: .notSent, detail: "cancelled before it began"), false)
      }
      exchange.hasArrived = true
      exchange.continuation = continuation
      state.batch.arrivals.append(exchange)
      return (nil, Self.startWaking(&state))
    }
    if mustWake { wake() }
    return refusal
  }

  /// Asks for the end of the exchange; without effect when it has ended.
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

  /// Says that the exchange's control has changed; without effect when it has ended.
  func nudge(_ exchange: Exchange) {
    let mustWake = state.withLock { state in
      guard exchange.hasArrived, !state.batch.isClosing else { return false }
      state.batch.nudges.append(exchange)
      return Self.startWaking(&state)
    }
    if mustWake { wake() }
  }

  /// Asks for the end of everything; nothing is taken in afterwards.
  func close() {
    let mustWake = state.withLock { state in
      state.batch.isClosing = true
      return Self.startWaking(&state)
    }
    if mustWake { wake() }
  }

  /// Wakes the loop, which counts its turns; how many there have been.
  func knock() -> UInt64 {
    let (turns, mustWake) = state.withLock { ($0.turns, Self.startWaking(&$0)) }
    if mustWake { wake() }
    return turns
  }

  var turns: UInt64 { state.withLock { $0.turns } }

  /// The turn that the loop is at work in; nil while it waits, and after its end.
  var turnAtWork: UInt64? { state.withLock { $0.isAsleep || $0.hasEnded ? nil : $0.turns } }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// The loop did not come back from libcurl in time.
  func noteStall() { state.withLock { $0.stalls += 1 } }

  func statistics() -> CurlTransport.Statistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.exchangesQueued += state.batch.arrivals.count
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
      state.turns &+= 1
      swap(&state.batch.arrivals, &batch.arrivals)
      swap(&state.batch.cancellations, &batch.cancellations)
      swap(&state.batch.nudges, &batch.nudges)
      batch.isClosing = state.batch.isClosing
    }
  }

  /// Whether the loop may wait: nothing came since it last looked. From here on whoever puts something in wakes it.
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

  /// Waits until nobody is about to wake the multi handle any more; only after `close()`, when no new waker can come.
  func awaitWakers() {
    while state.withLock({ $0.wakers }) > 0 { sched_yield() }
  }
}
