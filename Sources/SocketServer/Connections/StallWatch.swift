import PosternSupport

/// Decides when a peer that has begun a message has stalled: a pure clockwork, driven by the event loop's timer.
///
/// Two bounds, both only while a message is incomplete. A silent peer: no byte for `limit`. A dripping peer: the
/// message grew by less than `growth` bytes within ten times `limit`; so what a slow attacker can keep buffered, and
/// for how long, is bounded, while a person typing or a slow pipe is not cut off.
struct StallWatch: Sendable {
  /// What the timer does next.
  enum Verdict: Hashable {
    case stalled
    case checkAgain(after: Duration)
  }

  /// Bytes by which a message must grow within `limit * windowFactor`.
  static let growth = 64 * 1024
  static let windowFactor = 10

  private let limit: Duration
  private var ordinal = 0
  private var lastByte = MonotonicInstant(nanoseconds: 0)
  private var windowStart = MonotonicInstant(nanoseconds: 0)
  private var windowLength = 0

  init(limit: Duration) { self.limit = limit }

  /// Bytes came, and the message `ordinal` is incomplete with `length` bytes.
  mutating func progressed(ordinal: Int, length: Int, now: MonotonicInstant) {
    lastByte = now
    if ordinal != self.ordinal || length - windowLength >= Self.growth {
      self.ordinal = ordinal
      windowStart = now
      windowLength = length
    }
  }

  /// Reading is suspended because the peer does not read: its silence says nothing.
  mutating func suspended(now: MonotonicInstant) {
    lastByte = now
    windowStart = now
  }

  /// Looks at the clock while a message is incomplete.
  func verdict(now: MonotonicInstant) -> Verdict {
    let deadline = min(lastByte + limit, windowStart + limit * Self.windowFactor)
    return deadline <= now ? .stalled : .checkAgain(after: deadline - now)
  }
}
