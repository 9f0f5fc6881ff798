import PosternSupport
import SidecarAccess

/// Limits how often one event is published: five times at once and once a second in the long run. Later changes are
/// published together, after a delay. Belongs behind the lock of the publisher.
struct AnnouncementLimit: Sendable {
  private static let rate = RateLimit(perSecond: 1, burst: 5)

  private var bucket: TokenBucket
  /// Whether a publication is delayed.
  private(set) var isDelayed = false

  init(at now: MonotonicInstant) { bucket = TokenBucket(Self.rate, at: now) }

  /// Counts a publication. When there are too many it is delayed: returns how long to wait before `resume`.
  mutating func take(at now: MonotonicInstant) -> Duration? {
    let wait = bucket.take(Self.rate, at: now)
    isDelayed = wait != nil
    return wait
  }

  /// Ends the delay.
  mutating func resume() { isDelayed = false }
}
