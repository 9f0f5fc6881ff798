import PosternSupport

/// A cumulative histogram in the Prometheus sense. Not synchronised: its owner holds a lock.
package struct Histogram: Sendable {
  /// Upper bounds in seconds: from a cached answer to a slow provider.
  static let latencyBounds: [Double] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
  ]

  package private(set) var counts: [UInt64]
  package private(set) var sum = 0.0
  package private(set) var count: UInt64 = 0

  package init() { counts = Array(repeating: 0, count: Self.latencyBounds.count) }

  package mutating func observe(_ duration: Duration) {
    let seconds = duration.inSeconds
    sum += seconds
    count += 1
    if let bucket = Self.latencyBounds.firstIndex(where: { seconds <= $0 }) { counts[bucket] += 1 }
  }
}
