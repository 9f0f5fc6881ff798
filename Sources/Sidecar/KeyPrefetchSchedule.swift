import PosternSupport

/// When each issuer is to be asked for its keys: until it has given them again and again, at growing intervals, then so
/// often that a set is renewed in time. Without input and output.
struct KeyPrefetchSchedule: Sendable {
  private struct Entry: Sendable {
    var dueAt: MonotonicInstant
    var failures = 0
    var isUnderWay = false
  }

  /// How often a set that is there is looked at; it is fetched only when its time has come.
  static let interval = Duration.seconds(5)
  /// The longest time between two attempts; the first ones follow after 1, 2, 4 … seconds.
  static let longestPause = Duration.seconds(30)

  private var entries: [String: Entry] = [:]
  /// Counts reloads: what was asked before one says nothing afterwards.
  private(set) var generation = 0

  /// Who is to be asked now; each is under way until `ended`. After a reload everybody is due, and nothing is
  /// remembered.
  mutating func due(of issuers: some Sequence<String>, at now: MonotonicInstant, isReloaded: Bool) -> [String] {
    if isReloaded {
      entries = [:]
      generation += 1
    }
    var due: [String] = []
    var kept: [String: Entry] = [:]
    for name in issuers {
      var entry = entries[name] ?? Entry(dueAt: now)
      if !entry.isUnderWay, entry.dueAt <= now {
        entry.isUnderWay = true
        due.append(name)
      }
      kept[name] = entry
    }
    entries = kept
    return due.sorted()
  }

  /// An issuer has been asked, as of `generation`.
  mutating func ended(_ name: String, hasSucceeded: Bool, at now: MonotonicInstant, generation: Int) {
    guard generation == self.generation, var entry = entries[name] else { return }
    entry.isUnderWay = false
    entry.failures = hasSucceeded ? 0 : min(entry.failures + 1, 6)
    let pause = hasSucceeded ? Self.interval : min(.seconds(1 << (entry.failures - 1)), Self.longestPause)
    entry.dueAt = now + pause
    entries[name] = entry
  }
}
