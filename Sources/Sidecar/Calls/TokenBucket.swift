import PosternSupport

/// So many at once after a pause, so many a second in the long run. Time comes from outside.
struct TokenBucket: Sendable {
  /// How many there were when it was last looked at.
  private(set) var level: Double
  private var at: MonotonicInstant
  private var rate: AccessRules.Rate

  /// A full one.
  init(_ rate: AccessRules.Rate, at now: MonotonicInstant) {
    self.rate = rate
    level = Double(rate.burst)
    at = now
  }

  /// Takes one; when there is none, how long until there is. Another rate than before, after a reload, holds from now
  /// on; what was used stays used.
  mutating func take(_ rate: AccessRules.Rate, at now: MonotonicInstant) -> Duration? {
    let missing = Double(self.rate.burst) - level(at: now)
    if rate != self.rate {
      self.rate = rate
      level = max(0, Double(rate.burst) - missing)
    } else {
      level = Double(rate.burst) - missing
    }
    at = max(at, now)
    guard level >= 1 else { return .nanoseconds(Int64(min((1 - level) / rate.perSecond, 3600) * 1_000_000_000) + 1) }
    level -= 1
    return nil
  }

  /// Whether nothing is missing.
  func isFull(at now: MonotonicInstant) -> Bool { level(at: now) >= Double(rate.burst) }

  private func level(at now: MonotonicInstant) -> Double {
    min(Double(rate.burst), level + max(0, (now - at).inSeconds) * rate.perSecond)
  }
}
