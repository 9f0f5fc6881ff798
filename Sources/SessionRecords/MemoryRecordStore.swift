public import PosternSupport

/// A store in memory, which is lost when the process stops.
public final class MemoryRecordStore: RecordStore {
  private struct State {
    var records: [RecordKey: StoredRecord] = [:]
    var users: [UInt32: Owned] = [:]
    /// The records that expire; replacing or removing a record leaves its old entry.
    var expiries = ExpiryOrder()
    var lastNumber: Int64 = 0
    var spent = SpentValues()
    var isClosed = false

    mutating func noteExpiry(of record: StoredRecord) {
      guard let expiry = record.expiresAt else { return }
      expiries.add(record.key, at: expiry)
      guard expiries.count > 2 * records.count + MemoryRecordStore.slack else { return }
      expiries = ExpiryOrder()
      for record in records.values { if let expiry = record.expiresAt { expiries.add(record.key, at: expiry) } }
    }
  }

  /// The records of one uid.
  private struct Owned {
    var orders: [RecordKey.Collection: ArrivalOrder<RecordKey>] = [:]
    var bytes: [RecordKey.Collection: Int] = [:]

    var count: Int { orders.values.reduce(0) { $0 + $1.count } }
    var isEmpty: Bool { orders.values.allSatisfy(\.isEmpty) }

    var usage: RecordUsage {
      var usage = RecordUsage()
      for (collection, order) in orders {
        usage.add(order.count, in: collection, bytes: bytes[collection, default: 0])
      }
      return usage
    }
  }

  private static let purgeLimit = 1000
  /// The number of outdated entries that are kept, in addition to one for each record.
  private static let slack = 64

  private let capacity: Int
  private let state = Locked(State())

  /// An empty store for at most `capacity` records, shared by all uids; `insert` beyond that fails with
  /// `unavailable`, as an overload.
  public init(capacity: Int = 100_000) { self.capacity = capacity }

  /// Returns the record for `key`.
  public func record(for key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try access { state throws(StoreError) in state.records[key] }
  }

  /// Returns records of `uid`.
  public func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int,
    by payer: UInt32
  ) async throws(StoreError) -> RecordPage {
    try access { state throws(StoreError) in
      let listed = state.users[uid]?.orders[collection]?.names(after: position, atMost: count) ?? []
      var page = RecordPage(entries: [], next: nil)
      var bytes = 0
      for item in listed where bytes < RecordPage.maxBytes {
        guard let record = state.records[item.name] else { continue }
        bytes += record.contents.byteCount
        page.entries.append(RecordPage.Entry(record: record, position: item.number))
      }
      let isWhole = listed.count < count && page.entries.count == listed.count
      page.next = isWhole ? nil : page.entries.last?.position
      return page
    }
  }

  /// Returns the uids that have records.
  public func owners(in collection: RecordKey.Collection, by payer: UInt32) async throws(StoreError) -> Set<UInt32> {
    try access { state throws(StoreError) in
      Set(state.users.lazy.filter { $0.value.orders[collection]?.isEmpty == false }.map(\.key))
    }
  }

  /// Adds a record.
  public func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError) {
    try record.checkStorable()
    try access { state throws(StoreError) in
      guard record.version == 1, state.records[record.key] == nil else {
        throw StoreError(.conflict, "\(record.key) exists")
      }
      var excess = try allowance.excess(adding: record, to: state.users[record.uid]?.usage ?? RecordUsage())
      // Uids with many records leave capacity for one who comes later. One that takes another's place adds nothing.
      let isFull = !FairShare.allows(state.users[record.uid]?.count ?? 0, free: capacity - state.records.count)
      let isWithin = excess.isNone
      if isFull { excess.count = max(1, excess.count) }
      do throws(StoreError) {
        try Self.makeRoom(excess, for: record, within: allowance, in: &state)
      } catch {
        guard isFull, isWithin else { throw error }
        // The next uid's record may fit: the store itself is not at fault.
        throw StoreError(.unavailable, "the store has no capacity for more of this user", isOverload: true)
      }
      state.records[record.key] = record
      state.lastNumber += 1
      state.users[record.uid, default: Owned()].orders[record.key.collection, default: ArrivalOrder()]
        .add(record.key, number: state.lastNumber)
      state.users[record.uid]?.bytes[record.key.collection, default: 0] += record.contents.byteCount
      state.noteExpiry(of: record)
    }
  }

  /// Replaces a record.
  public func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError) {
    try record.checkStorable()
    try access { state throws(StoreError) in
      guard let stored = state.records[record.key], stored.version == record.version - 1, stored.uid == record.uid
      else { throw StoreError(.conflict, "\(record.key) has changed") }
      let growth = record.contents.byteCount - stored.contents.byteCount
      let excess = allowance.excess(growth: growth, of: state.users[record.uid]?.usage ?? RecordUsage())
      try Self.makeRoom(excess, for: record, within: allowance, in: &state)
      state.records[record.key] = record
      state.users[record.uid]?.bytes[record.key.collection, default: 0] += growth
      if record.expiresAt != stored.expiresAt { state.noteExpiry(of: record) }
    }
  }

  /// Removes a record.
  public func remove(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> Bool {
    try await take(key, by: payer) != nil
  }

  /// Removes a record and returns it.
  public func take(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try access { state throws(StoreError) in Self.remove(key, from: &state) }
  }

  /// Records a use, until the process stops.
  public func spend(
    _ value: [UInt8], by share: SpendingShare, until expiry: Timestamp, at now: Timestamp
  ) async throws(StoreError) -> Bool {
    let identity = try SpentValues.identity(value)
    return try access { state throws(StoreError) in
      try state.spent.spend(identity, by: share, until: expiry, at: now)
    }
  }

  /// Grants a lease, always.
  public func lease(_ key: RecordKey, for duration: Duration, by payer: UInt32) async throws(StoreError) -> RecordLease?
  {
    try access { state throws(StoreError) in RecordLease(key: key, fence: 0, token: []) }
  }

  /// Does nothing.
  public func release(_ lease: RecordLease, by payer: UInt32) async {}

  /// Returns the number of records.
  public func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try access { state throws(StoreError) in state.records.keys.count { $0.collection == collection } }
  }

  /// Returns the usage of `uid`.
  public func usage(of uid: UInt32, by payer: UInt32) async throws(StoreError) -> RecordUsage {
    try access { state throws(StoreError) in
      state.users[uid]?.usage ?? RecordUsage()
    }
  }

  /// Removes records that expired before `now`.
  public func purge(expiredAt now: Timestamp, by payer: UInt32) async throws(StoreError) -> Int {
    try access { state throws(StoreError) in
      var purged = 0
      while purged < Self.purgeLimit, let entry = state.expiries.next(before: now) {
        guard state.records[entry.key]?.expiresAt == entry.expiry else { continue }
        Self.remove(entry.key, from: &state)
        purged += 1
      }
      return purged
    }
  }

  /// Removes everything.
  public func close() async {
    state.withLock { $0 = State(isClosed: true) }
  }

  private func access<Value: Sendable>(
    _ body: (inout State) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    try state.withLock { state throws(StoreError) in
      guard !state.isClosed else { throw StoreError(.unavailable, "the store is closed") }
      return try body(&state)
    }
  }

  /// Removes what a write of `record` replaces.
  private static func makeRoom(
    _ excess: RecordExcess, for record: StoredRecord, within allowance: RecordAllowance, in state: inout State
  ) throws(StoreError) {
    guard !excess.isNone else { return }
    var excess = excess
    var replaced: [RecordKey] = []
    if let collection = allowance.replaceable, let first = state.users[record.uid]?.orders[collection]?.first() {
      let count = excess.bytes > 0 ? RecordAllowance.maxReplaced : min(excess.count, RecordAllowance.maxReplaced)
      // Two more, since the record itself and the spared one may be among them.
      let oldest = state.users[record.uid]?.orders[collection]?.names(
        after: first.number - 1, atMost: count > .max - 2 ? count : count + 2)
      for entry in oldest ?? []
      where !excess.isNone && entry.name != record.key && entry.name != allowance.spared {
        replaced.append(entry.name)
        excess.remove(byteCount: state.records[entry.name]?.contents.byteCount ?? 0)
      }
    }
    guard excess.isNone else { throw excess.error }
    for key in replaced { remove(key, from: &state) }
  }

  @discardableResult
  private static func remove(_ key: RecordKey, from state: inout State) -> StoredRecord? {
    guard let record = state.records.removeValue(forKey: key) else { return nil }
    state.users[record.uid]?.orders[key.collection]?.remove(key)
    state.users[record.uid]?.bytes[key.collection, default: 0] -= record.contents.byteCount
    if state.users[record.uid]?.isEmpty == true { state.users[record.uid] = nil }
    return record
  }
}

extension MemoryRecordStore: ConciseStringConvertible {
  /// The capacity.
  public var description: String { "record store in memory, at most \(Concise.count(capacity, "record"))" }
}
