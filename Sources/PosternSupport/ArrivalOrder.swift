/// Names in the order in which they came, for lists that are read in pages: each has a number that never changes, so
/// that a page goes on behind the last entry of the page before, whatever comes and goes meanwhile.
public struct ArrivalOrder<Name: Hashable & Sendable>: Sendable {
  /// A name and its number.
  public struct Entry: Sendable {
    /// The name.
    public let name: Name
    /// Its place in the order.
    public let number: Int64
  }

  /// So many entries of names that have left stay at most, beside as many as there are names.
  private static var slack: Int { 64 }

  private var numbers: [Name: Int64] = [:]
  /// By number; those that have left stand here until there are too many of them.
  private var entries: [Entry] = []
  /// Before this place all have left.
  private var head = 0

  /// An order of nothing.
  public init() {}

  /// How many names there are.
  public var count: Int { numbers.count }

  /// Whether there are none.
  public var isEmpty: Bool { numbers.isEmpty }

  /// Adds a name behind all others; `number` is greater than any that was given before. A name that is there leaves its
  /// old place.
  public mutating func add(_ name: Name, number: Int64) {
    remove(name)
    numbers[name] = number
    entries.append(Entry(name: name, number: number))
  }

  /// The name leaves.
  public mutating func remove(_ name: Name) {
    guard numbers.removeValue(forKey: name) != nil, entries.count > 2 * numbers.count + Self.slack else { return }
    let numbers = numbers
    entries.removeAll { numbers[$0.name] != $0.number }
    head = 0
  }

  /// The one that has been here for longest.
  public mutating func first() -> Entry? {
    while head < entries.count {
      let entry = entries[head]
      if numbers[entry.name] == entry.number { return entry }
      head += 1
    }
    return nil
  }

  /// At most `count` names whose numbers are greater than `number`, in order.
  public func names(after number: Int64, atMost count: Int) -> [Entry] {
    var found: [Entry] = []
    for entry in entries[firstPlace(after: number)...] {
      guard found.count < count else { break }
      if numbers[entry.name] == entry.number { found.append(entry) }
    }
    return found
  }

  private func firstPlace(after number: Int64) -> Int {
    var (low, high) = (head, entries.count)
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].number > number { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
