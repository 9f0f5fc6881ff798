import PosternSupport

/// The schedule of fetches of the issuers' key sets: with a backoff until the first success, then so often that a set
/// is refreshed in time. Without input and output.
struct KeyPrefetchSchedule: Sendable {
  private struct Entry: Sendable {
    var dueAt: MonotonicInstant
    var backoff = Backoff(first: .seconds(1), longest: KeyPrefetchSchedule.longestPause)
    var isUnderWay = false
  }

  /// How often a set that is there is looked at; it is fetched only when its time has come.
  static let interval = Duration.seconds(5)
  /// The longest time between two attempts; the first ones follow after 1, 2, 4 … seconds.
  static let longestPause = Duration.seconds(30)

  private var entries: [String: Entry] = [:]
  /// Counts reloads: results of fetches that started before one are ignored.
  private(set) var generation = 0

  /// The issuers to fetch from now; each is under way until `ended`. After a reload all are due again.
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

  /// Records the result of a fetch that started in `generation`.
  mutating func ended(_ name: String, hasSucceeded: Bool, at now: MonotonicInstant, generation: Int) {
    guard generation == self.generation, var entry = entries[name] else { return }
    entry.isUnderWay = false
    if hasSucceeded { entry.backoff.succeed() }
    entry.dueAt = now + (hasSucceeded ? Self.interval : entry.backoff.fail(at: now))
    entries[name] = entry
  }
}
