import PosternSupport

/// Keys in the order in which their records expire, so that to look for what has expired costs nothing where nothing
/// has. A heap: adding and taking cost the logarithm of how many there are.
struct ExpiryOrder: Sendable {
  struct Entry: Sendable {
    let key: RecordKey
    let expiry: Timestamp
  }

  /// No entry expires before the one at half its place.
  private var entries: [Entry] = []

  /// How many there are, those included whose records have gone or expire at another time now.
  var count: Int { entries.count }

  mutating func add(_ key: RecordKey, at expiry: Timestamp) {
    entries.append(Entry(key: key, expiry: expiry))
    var place = entries.count - 1
    while place > 0, entries[place].expiry < entries[(place - 1) / 2].expiry {
      entries.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Takes out the first that expires before `now`.
  mutating func next(before now: Timestamp) -> Entry? {
    guard let first = entries.first, first.expiry < now else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var place = 0
    while let child = earlierChild(of: place), entries[child].expiry < entries[place].expiry {
      entries.swapAt(place, child)
      place = child
    }
    return first
  }

  private func earlierChild(of place: Int) -> Int? {
    let left = 2 * place + 1
    guard left + 1 < entries.count else { return left < entries.count ? left : nil }
    return entries[left + 1].expiry < entries[left].expiry ? left + 1 : left
  }
}
