import PosternSupport

/// The time to look at a set of due times again: none of them is before it, and it may belong to none any more.
struct EarliestInstant {
  private(set) var instant: MonotonicInstant?

  mutating func add(_ due: MonotonicInstant) { instant = min(due, instant ?? due) }

  /// Whether it has come; then it is gone, and what is not due has to be added again.
  mutating func take(at now: MonotonicInstant) -> Bool {
    guard let instant, instant <= now else { return false }
    self.instant = nil
    return true
  }
}
