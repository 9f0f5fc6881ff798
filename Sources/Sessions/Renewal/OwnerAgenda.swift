import PosternSupport
import SessionRecords

/// What is to be done at which time about the sessions of one owner.
struct OwnerAgenda {
  typealias Entry = RenewalSchedule.Entry

  struct Place: Sendable, Hashable {
    let key: RecordKey
    let duty: RenewalSchedule.Duty

    init(_ entry: Entry) {
      key = entry.handle.key
      duty = entry.duty
    }
  }

  /// By session, so that they go with it.
  private var entries: [RecordKey: [RenewalSchedule.Duty: Entry]] = [:]
  /// By the second in which they are due. A place whose entry is due at another time now has an heir elsewhere.
  private var buckets: [Int64: [Place]] = [:]
  /// No bucket is of an earlier second.
  private var earliest = Int64.max
  /// Those whose time has come, the next one last.
  private var ready: [Place] = []
  /// How many places there are, those included whose entries have moved on.
  private(set) var placeCount = 0
  /// How many are being done.
  var underWay = 0
  /// When it was this owner's turn last: a number that only grows.
  var turn: UInt64 = 0
  /// How many entries there are.
  private(set) var count = 0

  /// Whether it can be forgotten.
  var isEmpty: Bool { entries.isEmpty && underWay == 0 }

  func isKnown(_ entry: Entry) -> Bool { self.entry(at: Place(entry)) != nil }

  /// Adds `entry`, in place of one about an older token, unless it is there already.
  mutating func add(_ entry: Entry) {
    let place = Place(entry)
    guard self.entry(at: place)?.expiresAt != entry.expiresAt else { return }
    if entries[place.key, default: [:]].updateValue(entry, forKey: place.duty) == nil { count += 1 }
    put(place, Self.second(entry.due))
    tidyIfNeeded()
  }

  /// Leaves out any one of them.
  mutating func drop() { if let entry = entries.values.first?.values.first { forget(Place(entry)) } }

  /// The session is over: nothing about it is due any more.
  mutating func remove(_ key: RecordKey) {
    guard let removed = entries.removeValue(forKey: key) else { return }
    count -= removed.count
    tidyIfNeeded()
  }

  /// Whether something may be due at `now`.
  func hasDue(at now: MonotonicInstant) -> Bool { !ready.isEmpty || earliest <= Self.second(now) }

  /// Takes out the one that has been due for longest.
  mutating func next(dueAt now: MonotonicInstant) -> Entry? {
    if ready.isEmpty { collect(dueAt: now) }
    while let place = ready.popLast() {
      placeCount -= 1
      guard let entry = entry(at: place), Self.second(entry.due) <= Self.second(now) else { continue }
      forget(place)
      return entry
    }
    return nil
  }

  private mutating func collect(dueAt now: MonotonicInstant) {
    let due = buckets.keys.filter { $0 <= Self.second(now) }.sorted(by: >)
    for second in due { ready += buckets.removeValue(forKey: second) ?? [] }
    earliest = buckets.keys.min() ?? .max
  }

  private mutating func put(_ place: Place, _ second: Int64) {
    buckets[second, default: []].append(place)
    earliest = min(earliest, second)
    placeCount += 1
  }

  private func entry(at place: Place) -> Entry? { entries[place.key]?[place.duty] }

  private mutating func forget(_ place: Place) {
    guard entries[place.key]?.removeValue(forKey: place.duty) != nil else { return }
    count -= 1
    if entries[place.key]?.isEmpty == true { entries[place.key] = nil }
  }

  /// Takes out the places whose entries have moved on or gone: tokens that live long and are renewed often leave many,
  /// and so do sessions that end.
  private mutating func tidyIfNeeded() {
    guard placeCount > 2 * count + 1024 else { return }
    (buckets, ready, earliest, placeCount) = ([:], [], .max, 0)
    for duties in entries.values {
      for entry in duties.values { put(Place(entry), Self.second(entry.due)) }
    }
  }

  private static func second(_ instant: MonotonicInstant) -> Int64 { instant.nanoseconds / 1_000_000_000 }
}
