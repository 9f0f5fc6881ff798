import PosternSupport

/// Decides when a peer that has begun a message has stalled: a pure clockwork, driven by the event loop's timer.
///
/// Two bounds, both only while a message is incomplete. A silent peer: no byte for `limit`. A dripping peer: the
/// message grew by less than `growth` bytes within ten times `limit`; so what a slow attacker can keep buffered, and
/// for how long, is bounded, while a person typing or a slow pipe is not cut off.
struct StallWatch: Sendable {
  /// The next action of the timer.
  enum Verdict: Hashable {
    case stalled
    case checkAgain(after: Duration)
  }

  /// Bytes by which a message must grow within `limit * windowFactor`.
  static let growth = 64 * 1024
  static let windowFactor = 10

  let limit: Duration
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

  /// Reading is suspended because the peer does not read: its silence does not count.
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

/// Decides when a peer has stopped reading: a pure clockwork that samples how much the kernel has taken.
struct WriteWatch: Sendable {
  /// The next action of the timer.
  enum Verdict: Hashable {
    /// Nothing waits to be written: no timer until something does.
    case idle
    /// No byte went out for the whole limit.
    case stuck
    case checkAgain(after: Duration)
  }

  /// Samples per limit: a stuck peer is seen at most an eighth of the limit late.
  static let samples = 8

  private let limit: Duration
  private var written = -1
  private var lastProgress = MonotonicInstant(nanoseconds: 0)

  init(limit: Duration) { self.limit = limit }

  /// How long to the next sample.
  var interval: Duration { limit / Self.samples }

  /// `written` bytes went out so far on this connection, `buffered` more wait.
  mutating func sample(written: Int, buffered: Int, now: MonotonicInstant) -> Verdict {
    guard buffered > 0 else {
      self.written = -1
      return .idle
    }
    if written != self.written {
      self.written = written
      lastProgress = now
    }
    let deadline = lastProgress + limit
    return deadline <= now ? .stuck : .checkAgain(after: min(interval, deadline - now))
  }
}
