import PosternSupport

/// Decides when a peer has stopped reading: a pure clockwork that samples how much the kernel has taken.
struct WriteWatch: Sendable {
  /// What the timer does next.
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
