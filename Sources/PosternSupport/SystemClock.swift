import Glibc

/// The machine's clocks.
public struct SystemClock: EngineClock {
  /// The clocks of this machine.
  public init() {}

  /// CLOCK_REALTIME.
  public var wallNow: Timestamp {
    let time = Self.read(CLOCK_REALTIME)
    return Timestamp(millisecondsSinceEpoch: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// CLOCK_BOOTTIME, so that a suspended machine does not serve what expired meanwhile.
  public var monotonicNow: MonotonicInstant {
    let time = Self.read(CLOCK_BOOTTIME)
    return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  /// Sleeps on the continuous clock.
  public func sleep(for duration: Duration) async throws {
    try await Task.sleep(for: duration, clock: .continuous)
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    clock_gettime(clock, &time)
    return time
  }
}
