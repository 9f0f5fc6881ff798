/// The background work that is due for one uid.
struct UserSchedule<Entry: ScheduledWork> {
  struct Position: Sendable, Hashable {
    let group: Entry.Group
    let duty: Entry.Duty

    init(_ entry: Entry) {
      group = entry.group
      duty = entry.duty
    }
  }

  /// By group, so that they are removed with it.
  private var entries: [Entry.Group: [Entry.Duty: Entry]] = [:]
  /// Positions by the second in which they are due. A position is stale once its entry is due at another time.
  private var buckets: [Int64: [Position]] = [:]
  /// No bucket is of an earlier second.
  private var earliest = Int64.max
  /// Positions that are due, the next one last.
  private var ready: [Position] = []
  /// The number of positions, stale ones included.
  private(set) var positionCount = 0
  /// How many are running.
  var underWay = 0
  /// The number of the uid's latest start among those of all uids.
  var latestStart: UInt64 = 0
  /// How many entries there are.
  private(set) var count = 0

  /// Whether it can be removed.
  var isEmpty: Bool { entries.isEmpty && underWay == 0 }

  func isKnown(_ entry: Entry) -> Bool { self.entry(at: Position(entry)) != nil }

  /// Adds `entry`, in place of an older one of its duty, unless it is there already.
  mutating func add(_ entry: Entry) {
    let position = Position(entry)
    guard self.entry(at: position)?.expiresAt != entry.expiresAt else { return }
    if entries[position.group, default: [:]].updateValue(entry, forKey: position.duty) == nil { count += 1 }
    put(position, Self.second(entry.due))
    tidyIfNeeded()
  }

  /// Leaves out any one of them.
  mutating func drop() { if let entry = entries.values.first?.values.first { forget(Position(entry)) } }

  /// The group is over: none of its entries is due any more.
  mutating func remove(_ group: Entry.Group) {
    guard let removed = entries.removeValue(forKey: group) else { return }
    count -= removed.count
    tidyIfNeeded()
  }

  /// Whether something may be due at `now`.
  func hasDue(at now: MonotonicInstant) -> Bool { !ready.isEmpty || earliest <= Self.second(now) }

  /// Takes out the one that has been due for longest.
  mutating func next(dueAt now: MonotonicInstant) -> Entry? {
    if ready.isEmpty { collect(dueAt: now) }
    while let position = ready.popLast() {
      positionCount -= 1
      guard let entry = entry(at: position), Self.second(entry.due) <= Self.second(now) else { continue }
      forget(position)
      return entry
    }
    return nil
  }

  private mutating func collect(dueAt now: MonotonicInstant) {
    let due = buckets.keys.filter { $0 <= Self.second(now) }.sorted(by: >)
    for second in due { ready += buckets.removeValue(forKey: second) ?? [] }
    earliest = buckets.keys.min() ?? .max
  }

  private mutating func put(_ position: Position, _ second: Int64) {
    buckets[second, default: []].append(position)
    earliest = min(earliest, second)
    positionCount += 1
  }

  private func entry(at position: Position) -> Entry? { entries[position.group]?[position.duty] }

  private mutating func forget(_ position: Position) {
    guard entries[position.group]?.removeValue(forKey: position.duty) != nil else { return }
    count -= 1
    if entries[position.group]?.isEmpty == true { entries[position.group] = nil }
  }

  /// Removes stale positions: entries that are replaced often leave many, and so do groups that are removed.
  private mutating func tidyIfNeeded() {
    guard positionCount > 2 * count + 1024 else { return }
    (buckets, ready, earliest, positionCount) = ([:], [], .max, 0)
    for duties in entries.values {
      for entry in duties.values { put(Position(entry), Self.second(entry.due)) }
    }
  }

  private static func second(_ instant: MonotonicInstant) -> Int64 { instant.nanoseconds / 1_000_000_000 }
}
