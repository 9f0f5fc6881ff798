/// At most so many requests within any stretch of time of the given length, and a few more for users who have had none
/// of them. A value; the owner guards it.
package struct RequestBudget: Sendable {
  /// How many times the limit is the most, for all users together.
  private static let reserve = 3

  private let limit: Int
  private let window: Duration
  private var spent: [(at: MonotonicInstant, uid: UInt32)] = []

  package init(limit: Int = 10, window: Duration = .seconds(60)) {
    self.limit = limit
    self.window = window
  }

  /// Whether there was room for one more of `uid`, which is then taken.
  package mutating func take(at now: MonotonicInstant, for uid: UInt32 = Requester.process.uid) -> Bool {
    spent.removeAll { $0.at + window <= now }
    let isFirst = !spent.contains { $0.uid == uid }
    guard spent.count < (isFirst ? limit * Self.reserve : limit) else { return false }
    spent.append((now, uid))
    return true
  }

  /// How long there is no room; nil when there is some.
  package func wait(at now: MonotonicInstant) -> Duration? {
    let left = spent.map { $0.at + window - now }.filter { $0 > .zero }
    return left.count < limit ? nil : left.min()
  }
}
