import Support

/// How fast requests go out: a token bucket for each device that they are made for, since that is whom servers count. The levels are behind
/// a lock.
public final class DecisionPace: Sendable {
  private struct Level: Sendable {
    var permits: Double
    var at: MonotonicInstant
  }

  /// How many devices are told apart; the one that was longest not heard of begins anew.
  private static let maxDevices = 4096

  private let perSecond: Double
  private let burst: Double
  private let levels = Locked(BoundedCache<String, Level>(capacity: maxDevices))

  /// `perSecond` requests in the long run, `burst` at once after a pause.
  public init(perSecond: Double, burst: Int) {
    self.perSecond = max(perSecond, 0.001)
    self.burst = Double(max(1, burst))
  }

  /// Takes one; the time to wait before it may be used, nil when that is more than `patience`: nothing is taken then. `device` is empty
  /// for the sidecar's own.
  func take(at now: MonotonicInstant, patience: Duration?, for device: String = "") -> Duration? {
    levels.withLock { levels in
      let level = level(of: device, in: &levels, at: now)
      let left = level.permits - 1
      let short: Duration = left >= 0 ? .zero : .nanoseconds(Int64(min(-left / perSecond, 3600) * 1_000_000_000))
      let wait = (level.at - now) + short
      if let patience, wait > patience { return nil }
      levels[device] = Level(permits: left, at: level.at)
      return wait
    }
  }

  /// Puts one back that was taken and not used.
  func giveBack(for device: String = "") {
    levels.withLock { $0[device]?.permits += 1 }
  }

  /// The server has had enough: nothing goes out for `pause`, and not more than one at its end.
  func hold(for pause: Duration, at now: MonotonicInstant, for device: String = "") {
    levels.withLock { levels in
      let level = level(of: device, in: &levels, at: now)
      levels[device] = Level(permits: min(level.permits, 1), at: max(level.at, now + pause))
    }
  }

  /// The level now, or at the later time from which on it counts.
  private func level(
    of device: String, in levels: inout BoundedCache<String, Level>, at now: MonotonicInstant
  ) -> Level {
    guard let old = levels[device] else { return Level(permits: burst, at: now) }
    guard old.at < now else { return old }
    return Level(permits: min(burst, old.permits + (now - old.at).inSeconds * perSecond), at: now)
  }
}
