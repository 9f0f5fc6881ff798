import SessionRecords

/// The known usages of uids, with the changes of an open transaction: a call that fails reverts its own changes, and
/// no other uid's records have to be counted again for it.
struct UserUsages {
  /// The number of uids whose usage is cached.
  private static let capacity = 4096

  private var known: [UInt32: RecordUsage] = [:]
  /// The usages before each change of the transaction, in order.
  private var earlier: [(uid: UInt32, usage: RecordUsage)] = []

  /// The number of changes in the transaction.
  var changeCount: Int { earlier.count }

  func usage(of uid: UInt32) -> RecordUsage? { known[uid] }

  /// Caches a counted usage. Outside of transactions.
  mutating func note(_ usage: RecordUsage, of uid: UInt32) {
    if known.count >= Self.capacity, let other = known.keys.first { known[other] = nil }
    known[uid] = usage
  }

  /// Records were added, or taken away.
  mutating func add(_ count: Int, of uid: UInt32, in collection: RecordKey.Collection, bytes: Int) {
    guard let usage = known[uid] else { return }
    earlier.append((uid, usage))
    known[uid]?.add(count, in: collection, bytes: bytes)
  }

  /// Reverts the changes of the transaction after its first `count` ones.
  mutating func takeBack(to count: Int) {
    while earlier.count > count, let change = earlier.popLast() { known[change.uid] = change.usage }
  }

  /// Ends the transaction: nothing will be reverted.
  mutating func keep() { earlier.removeAll(keepingCapacity: true) }
}
