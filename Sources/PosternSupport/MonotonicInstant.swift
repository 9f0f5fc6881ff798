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
    let (sum, carried) = left.nanoseconds.addingReportingOverflow(scaled + attoseconds / 1_000_000_000)
    return MonotonicInstant(nanoseconds: carried ? (seconds < 0 ? .min : .max) : sum)
  }

  /// The time from `right` to `left`.
  public static func - (left: MonotonicInstant, right: MonotonicInstant) -> Duration {
    .nanoseconds(left.nanoseconds - right.nanoseconds)
  }
}
