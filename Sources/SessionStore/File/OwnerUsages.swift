import SessionRecords

/// What is known of how much each owner has, with what the statements of an open transaction have done to it: a call
/// that fails takes back its own part, and nobody else's has to be summed up again for it.
struct OwnerUsages {
  /// Of so many owners the usage is remembered.
  private static let capacity = 4096

  private var known: [UInt32: RecordUsage] = [:]
  /// What was known before each change of the transaction, in order.
  private var earlier: [(owner: UInt32, usage: RecordUsage)] = []

  /// How many changes the transaction has made.
  var changeCount: Int { earlier.count }

  func usage(of owner: UInt32) -> RecordUsage? { known[owner] }

  /// Remembers what was summed up. Outside of transactions.
  mutating func note(_ usage: RecordUsage, of owner: UInt32) {
    if known.count >= Self.capacity, let other = known.keys.first { known[other] = nil }
    known[owner] = usage
  }

  /// Records were added, or taken away.
  mutating func add(_ count: Int, of owner: UInt32, in collection: RecordKey.Collection, bytes: Int) {
    guard let usage = known[owner] else { return }
    earlier.append((owner, usage))
    known[owner]?.add(count, in: collection, bytes: bytes)
  }

  /// Takes back what the transaction did after its first `count` changes.
  mutating func takeBack(to count: Int) {
    while earlier.count > count, let change = earlier.popLast() { known[change.owner] = change.usage }
  }

  /// The transaction is over: nothing will be taken back.
  mutating func keep() { earlier.removeAll(keepingCapacity: true) }
}
