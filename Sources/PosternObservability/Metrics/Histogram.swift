import PosternSupport

/// A cumulative histogram in the Prometheus sense. Not synchronised: its owner holds a lock.
package struct Histogram: Sendable {
  /// Upper bounds in microseconds: from a cached answer to a slow provider.
  private static let microseconds: [Int64] = [
    50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000, 30_000_000,
  ]
  private static let bounds = microseconds.map { Duration.microseconds($0) }
  /// The upper bounds in seconds.
  static let latencyBounds = microseconds.map { Double($0) / 1_000_000 }

  package private(set) var counts: [UInt64]
  package private(set) var count: UInt64 = 0
  private var total = Duration.zero

  package init() { counts = Array(repeating: 0, count: Self.bounds.count) }

  /// In seconds.
  package var sum: Double { total.inSeconds }

  package mutating func observe(_ duration: Duration) {
    total += duration
    count += 1
    if let bucket = Self.bounds.firstIndex(where: { duration <= $0 }) { counts[bucket] += 1 }
  }
}
