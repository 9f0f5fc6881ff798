/// A point on the wall clock, in milliseconds since the Unix epoch.
public struct Timestamp: Sendable, Hashable, Comparable {
  /// Milliseconds since 1970-01-01T00:00:00Z; negative before it.
  public let millisecondsSinceEpoch: Int64

  /// A timestamp that many milliseconds after the epoch.
  public init(millisecondsSinceEpoch: Int64) { self.millisecondsSinceEpoch = millisecondsSinceEpoch }

  /// A timestamp that many seconds after the epoch (JWT's NumericDate, RFC 7519 section 2).
  public init(secondsSinceEpoch: Int64) {
    let (milliseconds, overflow) = secondsSinceEpoch.multipliedReportingOverflow(by: 1000)
    millisecondsSinceEpoch = overflow ? (secondsSinceEpoch < 0 ? .min : .max) : milliseconds
  }

  /// Whole seconds since the epoch, rounded down.
  public var secondsSinceEpoch: Int64 {
    let quotient = millisecondsSinceEpoch / 1000
    return millisecondsSinceEpoch % 1000 < 0 ? quotient - 1 : quotient
  }

  /// Earlier first.
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.millisecondsSinceEpoch < right.millisecondsSinceEpoch
  }

  /// The timestamp `duration` later, clamped at the ends of the range.
  public static func + (left: Timestamp, right: Duration) -> Timestamp {
    let (sum, overflow) = left.millisecondsSinceEpoch.addingReportingOverflow(right.wholeMilliseconds)
    return Timestamp(millisecondsSinceEpoch: overflow ? (right < .zero ? .min : .max) : sum)
  }

  /// The time from `right` to `left`.
  public static func - (left: Timestamp, right: Timestamp) -> Duration {
    let (difference, overflow) = left.millisecondsSinceEpoch.subtractingReportingOverflow(right.millisecondsSinceEpoch)
    return .milliseconds(overflow ? (left < right ? Int64.min : Int64.max) : difference)
  }
}

extension Timestamp: ConciseStringConvertible {
  /// RFC 3339 in UTC: `2026-01-02T03:04:05.678Z`.
  public var description: String { rfc3339 }
}
