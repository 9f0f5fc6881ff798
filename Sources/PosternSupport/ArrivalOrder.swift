/// Names in the order in which they came, for lists that are read in pages: each has a number that never changes, so
/// that a page goes on behind the last entry of the page before, whatever comes and goes meanwhile.
///
/// Inlinable, since every fetch adds entries.
public struct ArrivalOrder<Name: Hashable & Sendable>: Sendable {
  /// A name and its number.
  public struct Entry: Sendable {
    /// The name.
    public let name: Name
    /// Its position in the order.
    public let number: Int64

    @inlinable
    init(name: Name, number: Int64) {
      self.name = name
      self.number = number
    }
  }

  /// How many entries of removed names are kept, in addition to as many as there are names.
  @inlinable static var slack: Int { 64 }

  @usableFromInline var numbers: [Name: Int64] = [:]
  /// By number; entries of removed names are kept until there are too many.
  @usableFromInline var entries: [Entry] = []
  /// The entries before this index are all of removed names.
  @usableFromInline var head = 0

  /// An order of nothing.
  @inlinable
  public init() {}

  /// How many names there are.
  @inlinable public var count: Int { numbers.count }

  /// Whether there are none.
  @inlinable public var isEmpty: Bool { numbers.isEmpty }

  /// Adds a name after all others; `number` is greater than all numbers before. A name that is there already moves.
  @inlinable
  public mutating func add(_ name: Name, number: Int64) {
    remove(name)
    numbers[name] = number
    entries.append(Entry(name: name, number: number))
  }

  /// The name leaves.
  @inlinable
  public mutating func remove(_ name: Name) {
    guard numbers.removeValue(forKey: name) != nil, entries.count > 2 * numbers.count + Self.slack else { return }
    let numbers = numbers
    entries.removeAll { numbers[$0.name] != $0.number }
    head = 0
  }

  /// The one that has been here for longest.
  @inlinable
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
    for entry in entries[firstIndex(after: number)...] {
      guard found.count < count else { break }
      if numbers[entry.name] == entry.number { found.append(entry) }
    }
    return found
  }

  /// At most `count` names whose numbers are less than `number` and that fulfil `condition`, the last first.
  public func names(before number: Int64, atMost count: Int, where condition: (Name) -> Bool = { _ in true }) -> [Entry]
  {
    var found: [Entry] = []
    for entry in entries[head..<max(head, firstIndex(after: number - 1))].reversed() {
      guard found.count < count else { break }
      if numbers[entry.name] == entry.number, condition(entry.name) { found.append(entry) }
    }
    return found
  }

  private func firstIndex(after number: Int64) -> Int {
    var (low, high) = (head, entries.count)
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].number > number { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension ArrivalOrder: ConciseStringConvertible {
  /// The number of names.
  public var description: String { Concise.count(count, "name") }
}

extension ArrivalOrder.Entry: ConciseStringConvertible {
  /// The position in the order.
  public var description: String { "entry \(number)" }
}
