import PosternSupport

/// How often subscribers are told of one thing: five times at once and once a second in the long run. What comes more
/// often is told, as it is then, when its time has come. Belongs behind the lock of whoever tells.
struct AnnouncementPace: Sendable {
  private static let rate = AccessRules.Rate(perSecond: 1, burst: 5)

  private var bucket: TokenBucket
  /// Somebody waits until it can be told.
  private(set) var isPutOff = false

  init(at now: MonotonicInstant) { bucket = TokenBucket(Self.rate, at: now) }

  /// Takes a turn to tell. When it is too early it is put off: returns how long to wait before `goOn`.
  mutating func take(at now: MonotonicInstant) -> Duration? {
    let wait = bucket.take(Self.rate, at: now)
    isPutOff = wait != nil
    return wait
  }

  /// The wait is over.
  mutating func goOn() { isPutOff = false }
}
