import PosternSupport

/// A pause that is twice as long each time, up to five seconds.
struct GrowingPause {
  private static let longest = Duration.seconds(5)

  private var next = Duration.milliseconds(100)
  private var end: MonotonicInstant?

  /// Whether none was begun, or the last one has passed.
  func isOver(at now: MonotonicInstant) -> Bool { end.map { now >= $0 } ?? true }

  mutating func begin(at now: MonotonicInstant) {
    end = now + next
    next = min(next * 2, Self.longest)
  }
}
