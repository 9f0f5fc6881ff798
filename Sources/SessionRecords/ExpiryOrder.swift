import PosternSupport

/// Keys in the order in which their records expire, so that a search for expired records costs nothing where there are
/// none. A heap: adding and taking cost the logarithm of its size.
struct ExpiryOrder: Sendable {
  struct Entry: Sendable {
    let key: RecordKey
    let expiry: Timestamp
  }

  /// No entry expires before the one at half its index.
  private var entries: [Entry] = []

  /// The number of entries, including those of records that were removed or have another expiry now.
  var count: Int { entries.count }

  mutating func add(_ key: RecordKey, at expiry: Timestamp) {
    entries.append(Entry(key: key, expiry: expiry))
    var index = entries.count - 1
    while index > 0, entries[index].expiry < entries[(index - 1) / 2].expiry {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// Takes out the first entry that expires before `now`.
  mutating func next(before now: Timestamp) -> Entry? {
    guard let first = entries.first, first.expiry < now else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var index = 0
    while let child = earlierChild(of: index), entries[child].expiry < entries[index].expiry {
      entries.swapAt(index, child)
      index = child
    }
    return first
  }

  private func earlierChild(of index: Int) -> Int? {
    let left = 2 * index + 1
    guard left + 1 < entries.count else { return left < entries.count ? left : nil }
    return entries[left + 1].expiry < entries[left].expiry ? left + 1 : left
  }
}
