import PosternSupport

/// Measures the cost of pieces of work by elapsed time, which is cheap, and by processor time where a piece took so
/// long that its thread may have waited: work is not charged for what other processes did. On one thread.
struct WorkCost: Sendable {
  /// Pieces over this are looked at.
  private static let suspicious: Int64 = 300_000
  /// So many rounds share one reading of the processor's clock.
  private static let rounds = 16

  private var baseline: Int64 = 0
  private var charged: Int64 = 0
  private var round = 0

  /// A round of work begins.
  mutating func beginRound() {
    defer { round = (round + 1) % Self.rounds }
    if round == 0 { restart() }
  }

  /// The cost of a piece that took `elapsed`.
  mutating func cost(elapsed: Int64) -> Int64 {
    guard elapsed > Self.suspicious else {
      charged += elapsed
      return elapsed
    }
    let used = ThreadTime.now - baseline - charged
    restart()
    return min(elapsed, max(used, 1000))
  }

  private mutating func restart() {
    baseline = ThreadTime.now
    charged = 0
  }
}
