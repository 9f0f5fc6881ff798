/// A dictionary of at most `capacity` entries; adding one more removes the one that was longest not used.
struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry: Sendable {
    var value: Value
    var lastUse: UInt64
  }

  private let capacity: Int
  private var entries: [Key: Entry] = [:]
  private var uses: UInt64 = 0

  init(capacity: Int) { self.capacity = max(1, capacity) }

  var count: Int { entries.count }

  subscript(key: Key) -> Value? {
    mutating get {
      guard let value = entries[key]?.value else { return nil }
      uses += 1
      entries[key]?.lastUse = uses
      return value
    }
    set {
      guard let newValue else {
        entries[key] = nil
        return
      }
      uses += 1
      entries[key] = Entry(value: newValue, lastUse: uses)
      // Rare: the capacity is far beyond what a configuration names.
      if entries.count > capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key {
        entries[oldest] = nil
      }
    }
  }
}
