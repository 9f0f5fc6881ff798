import Glibc

/// Time, injected everywhere so that tests own it.
public protocol EngineClock: Sendable {
  /// The wall clock: what tokens and certificates speak about. May step.
  var wallNow: Timestamp { get }

  /// Time since boot, suspend included (CLOCK_BOOTTIME): what caches and deadlines use. Never steps.
  var monotonicNow: MonotonicInstant { get }

  /// Suspends for `duration`; throws `CancellationError` when the task is cancelled first.
  func sleep(for duration: Duration) async throws
}

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

/// A point on the boot clock, in nanoseconds since boot; comparable only within one boot.
public struct MonotonicInstant: Sendable, Hashable, Comparable {
  /// Nanoseconds since boot.
  public let nanoseconds: Int64

  /// The instant that many nanoseconds after boot.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Earlier first.
  public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The instant `duration` later, clamped at the ends of the range.
  public static func + (left: MonotonicInstant, right: Duration) -> MonotonicInstant {
    let (seconds, attoseconds) = right.components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return MonotonicInstant(nanoseconds: seconds < 0 ? .min : .max) }
    // The start is added first: a duration may be longer than all instants only by its fraction of a second.
    let (begun, carried) = left.nanoseconds.addingReportingOverflow(scaled)
    guard !carried else { return MonotonicInstant(nanoseconds: seconds < 0 ? .min : .max) }
    let (sum, isBeyond) = begun.addingReportingOverflow(attoseconds / 1_000_000_000)
    return MonotonicInstant(nanoseconds: isBeyond ? (attoseconds < 0 ? .min : .max) : sum)
  }

  /// The time from `right` to `left`.
  public static func - (left: MonotonicInstant, right: MonotonicInstant) -> Duration {
    .nanoseconds(left.nanoseconds - right.nanoseconds)
  }
}

/// The instant by which a whole operation, retries and waits included, must be over; or none.
public struct Deadline: Sendable, Hashable {
  /// The instant; nil means no bound.
  public let instant: MonotonicInstant?

  /// No bound.
  public static let never = Deadline(instant: nil)

  /// A deadline at `instant`.
  public init(instant: MonotonicInstant?) { self.instant = instant }

  /// A deadline `duration` from now on `clock`.
  public init(in duration: Duration, on clock: some EngineClock) {
    instant = clock.monotonicNow + duration
  }

  /// The remaining time on `clock`, never negative; nil when unbounded.
  public func remaining(on clock: some EngineClock) -> Duration? {
    instant.map { max(.zero, $0 - clock.monotonicNow) }
  }

  /// Whether the instant has passed.
  public func hasPassed(on clock: some EngineClock) -> Bool {
    instant.map { $0 <= clock.monotonicNow } ?? false
  }

  /// The earlier of the two.
  public func earlier(_ other: Deadline) -> Deadline {
    switch (instant, other.instant) {
    case (let mine?, let theirs?): Deadline(instant: min(mine, theirs))
    case (let mine?, nil): Deadline(instant: mine)
    case (nil, let theirs): Deadline(instant: theirs)
    }
  }
}

extension Duration {
  /// Whole milliseconds, rounded towards zero and clamped to what `Int64` holds: the unit of every `…Ms` member.
  public var wholeMilliseconds: Int64 {
    // Nearly all are shorter than nine seconds, for which no 128 bits are divided.
    let low = Int64(truncatingIfNeeded: attoseconds)
    if Int128(low) == attoseconds { return low / 1_000_000_000_000_000 }
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let (sum, carried) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
    return carried ? (seconds < 0 ? .min : .max) : sum
  }

  /// Whole milliseconds, rounded up, so that a wait is not too short.
  public var wholeMillisecondsUp: Int64 {
    let whole = wholeMilliseconds
    return whole < .max && .milliseconds(whole) < self ? whole + 1 : whole
  }

  /// The duration in seconds as a floating-point number, for metrics.
  public var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}

extension SystemClock: ConciseStringConvertible {}

extension MonotonicInstant: ConciseStringConvertible {
  /// `12.5 seconds after boot`.
  public var description: String { "\(Duration.nanoseconds(nanoseconds)) after boot" }
}

extension Deadline: ConciseStringConvertible {
  /// The instant.
  public var description: String { instant.map { "deadline \($0)" } ?? "no deadline" }
}
