import Support

/// At most so many requests within any stretch of time of the given length. A value; the owner guards it.
struct RequestBudget: Sendable {
  private let limit: Int
  private let window: Duration
  private var spent: [MonotonicInstant] = []

  init(limit: Int = 10, window: Duration = .seconds(60)) {
    self.limit = limit
    self.window = window
  }

  /// Whether there was room for one more, which is then taken.
  mutating func take(at now: MonotonicInstant) -> Bool {
    spent.removeAll { $0 + window <= now }
    guard spent.count < limit else { return false }
    spent.append(now)
    return true
  }

  /// How long there is no room; nil when there is some.
  func wait(at now: MonotonicInstant) -> Duration? {
    let left = spent.map { $0 + window - now }.filter { $0 > .zero }
    return left.count < limit ? nil : left.min()
  }
}
