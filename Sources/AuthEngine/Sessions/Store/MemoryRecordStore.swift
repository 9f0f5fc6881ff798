public import Support

/// A store that forgets everything at the end of the process.
public final class MemoryRecordStore: RecordStore {
  private struct State {
    var records: [RecordKey: StoredRecord] = [:]
    var owners: [Owner: Set<RecordKey>] = [:]
    var isClosed = false
  }

  private struct Owner: Hashable {
    let collection: RecordKey.Collection
    let uid: UInt32
  }

  private static let purgeLimit = 1000

  private let capacity: Int
  private let state = Locked(State())

  /// An empty store for at most `capacity` records; `insert` beyond it fails with `unavailable`.
  public init(capacity: Int = 100_000) { self.capacity = capacity }

  /// The record for `key`.
  public func record(for key: RecordKey) async throws(StoreError) -> StoredRecord? {
    try access { state throws(StoreError) in state.records[key] }
  }

  /// The records of `owner`.
  public func records(
    in collection: RecordKey.Collection, ownedBy owner: UInt32
  ) async throws(StoreError) -> [StoredRecord] {
    try access { state throws(StoreError) in
      (state.owners[Owner(collection: collection, uid: owner)] ?? []).compactMap { state.records[$0] }
    }
  }

  /// Adds a record.
  public func insert(_ record: StoredRecord) async throws(StoreError) {
    try record.checkStorable()
    try access { state throws(StoreError) in
      guard record.version == 1, state.records[record.key] == nil else {
        throw StoreError(.conflict, "\(record.key) exists")
      }
      guard state.records.count < capacity else {
        throw StoreError(.unavailable, "the store is full: \(capacity) records")
      }
      state.records[record.key] = record
      state.owners[Owner(collection: record.key.collection, uid: record.owner), default: []].insert(record.key)
    }
  }

  /// Replaces a record.
  public func replace(_ record: StoredRecord, under lease: RecordLease?) async throws(StoreError) {
    try record.checkStorable()
    try access { state throws(StoreError) in
      guard let stored = state.records[record.key], stored.version == record.version - 1, stored.owner == record.owner
      else { throw StoreError(.conflict, "\(record.key) has changed") }
      state.records[record.key] = record
    }
  }

  /// Removes a record.
  public func remove(_ key: RecordKey) async throws(StoreError) -> Bool { try await take(key) != nil }

  /// Removes a record and returns it.
  public func take(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
    try access { state throws(StoreError) in Self.remove(key, from: &state) }
  }

  /// Always granted.
  public func lease(_ key: RecordKey, for duration: Duration) async throws(StoreError) -> RecordLease? {
    try access { state throws(StoreError) in RecordLease(key: key, fence: 0, token: []) }
  }

  /// Without effect.
  public func release(_ lease: RecordLease) async {}

  /// How many records there are.
  public func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try access { state throws(StoreError) in state.records.keys.count { $0.collection == collection } }
  }

  /// How many of them are `owner`'s.
  public func count(
    in collection: RecordKey.Collection, ownedBy owner: UInt32
  ) async throws(StoreError) -> Int {
    try access { state throws(StoreError) in state.owners[Owner(collection: collection, uid: owner)]?.count ?? 0 }
  }

  /// Removes what expired before `now`.
  public func purge(expiredAt now: Timestamp) async throws(StoreError) -> Int {
    try access { state throws(StoreError) in
      let expired = state.records.values.lazy.filter { $0.expiresAt.map { $0 < now } == true }.map(\.key)
      let keys = Array(expired.prefix(Self.purgeLimit))
      for key in keys { Self.remove(key, from: &state) }
      return keys.count
    }
  }

  /// Forgets everything.
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

  @discardableResult
  private static func remove(_ key: RecordKey, from state: inout State) -> StoredRecord? {
    guard let record = state.records.removeValue(forKey: key) else { return nil }
    let owner = Owner(collection: key.collection, uid: record.owner)
    state.owners[owner]?.remove(key)
    if state.owners[owner]?.isEmpty == true { state.owners[owner] = nil }
    return record
  }
}
