import Support

/// How fast requests go out: a token bucket. Its level is behind a lock.
public final class DecisionPace: Sendable {
  private struct Level {
    var permits: Double
    var at: MonotonicInstant
  }

  private let perSecond: Double
  private let burst: Double
  private let level: Locked<Level?> = Locked(nil)

  /// `perSecond` requests in the long run, `burst` at once after a pause.
  public init(perSecond: Double, burst: Int) {
    self.perSecond = max(perSecond, 0.001)
    self.burst = Double(max(1, burst))
  }

  /// Takes one; the time to wait before it may be used, nil when that is more than `patience`: nothing is taken then.
  func take(at now: MonotonicInstant, patience: Duration?) -> Duration? {
    level.withLock { level in
      let old = level ?? Level(permits: burst, at: now)
      let filled = min(burst, old.permits + max(0, (now - old.at).inSeconds) * perSecond)
      let left = filled - 1
      let wait: Duration = left >= 0 ? .zero : .nanoseconds(Int64(min(-left / perSecond, 3600) * 1_000_000_000))
      if let patience, wait > patience { return nil }
      level = Level(permits: left, at: now)
      return wait
    }
  }

  /// Puts one back that was taken and not used.
  func giveBack() {
    level.withLock { $0?.permits += 1 }
  }
}
