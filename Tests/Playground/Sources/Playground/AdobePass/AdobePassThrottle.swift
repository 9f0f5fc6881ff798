import PosternSupport

/// How many requests each device may still make: one a second, after ten at once.
final class AdobePassThrottle: Sendable {
  private struct Level {
    var permits: Double
    var at: MonotonicInstant
  }

  private static let burst = 10.0
  private static let maxDevices = 10_000

  private let levels = Locked<[String: Level]>([:])
  private let clock: any EngineClock

  /// Everybody may make ten.
  init(clock: any EngineClock) { self.clock = clock }

  /// Whether `device` may make the current request.
  func admits(_ device: String) -> Bool {
    let now = clock.monotonicNow
    return levels.withLock { levels in
      if levels.count >= Self.maxDevices { levels = [:] }
      let old = levels[device] ?? Level(permits: Self.burst, at: now)
      let filled = min(Self.burst, old.permits + (now - old.at).inSeconds)
      levels[device] = Level(permits: filled >= 1 ? filled - 1 : filled, at: now)
      return filled >= 1
    }
  }

  /// Everybody may make ten again.
  func reset() { levels.withLock { $0 = [:] } }
}
