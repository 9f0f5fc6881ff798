public import PosternSupport

/// Where sessions, authorizations under way and profiles are kept.
///
/// What a store returns is what was written: a record that was changed behind its back is `corrupted`, never passed on.
/// Cancelling the calling task changes nothing: what has begun goes to its end. After `unavailable` a write may have
/// happened or not; reading the record tells.
public protocol RecordStore: Sendable {
  /// The record, expired or not, as long as it has not been purged; nil when there is none.
  func record(for key: RecordKey) async throws(StoreError) -> StoredRecord?

  /// Records of `owner` behind `position` (0: from the first on), in the order in which they were added: at most
  /// `count`, and fewer where they are large. `corrupted` when one of them is. Whoever wants all of them asks again and
  /// again, and lets others have their turn.
  func records(
    in collection: RecordKey.Collection, ownedBy owner: UInt32, after position: Int64, atMost count: Int
  ) async throws(StoreError) -> RecordPage

  /// Adds a record of version 1. Durable when it returns. `conflict` when the key exists; `overdrawn` when its owner
  /// has as much as `allowance` says already, whatever else is added at the same time.
  func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError)

  /// Replaces a record. Durable when it returns.
  ///
  /// `conflict` unless the stored version is `record.version - 1` and the owner the same; `leaseLost` when a later
  /// lease than `lease` has been granted; `overdrawn` when it grows beyond what `allowance` says of bytes.
  func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError)

  /// Removes a record. Durable when it returns. True when there was one.
  func remove(_ key: RecordKey) async throws(StoreError) -> Bool

  /// Removes a record and returns it: of several callers one gets it. Durable when it returns.
  func take(_ key: RecordKey) async throws(StoreError) -> StoredRecord?

  /// The exclusive right to renew a record, for at most `duration`; nil while somebody else holds it.
  ///
  /// A store that one process has for itself always grants it: inside a process the callers take turns by themselves.
  func lease(_ key: RecordKey, for duration: Duration) async throws(StoreError) -> RecordLease?

  /// Gives a lease back before its time; without effect when it is no longer the current one.
  func release(_ lease: RecordLease) async

  /// How many records there are, expired ones that have not been purged included.
  func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int

  /// How much `owner` has in the store; where other processes write too, as of a moment ago.
  func usage(of owner: UInt32) async throws(StoreError) -> RecordUsage

  /// Removes some of what expired before `now`; how many. Call again while it is not 0.
  func purge(expiredAt now: Timestamp) async throws(StoreError) -> Int

  /// Looks whether it can be used now, and changes nothing; throws why not.
  func check() async throws(StoreError)

  /// Writes something that changes nothing; throws why that does not work.
  func checkWriting() async throws(StoreError)

  /// Something begins whose outcome has to be written, since it may not be had again: until `letGo` the store is not
  /// left to another process. `locked` when that has begun, unless it is a part (`isNested`) of something that holds
  /// the store. See `whileHeld`.
  func hold(isNested: Bool) throws(StoreError)

  /// It is over.
  func letGo()

  /// Finishes what has begun and lets go of files and connections. Later calls fail with `unavailable`.
  func close() async
}

extension RecordStore {
  private var nobody: RecordKey {
    RecordKey(collection: .session, id: [UInt8](repeating: 0, count: RecordKey.identifierByteCount))
  }

  /// Adds a record, however much its owner has.
  public func insert(_ record: StoredRecord) async throws(StoreError) { try await insert(record, within: .unlimited) }

  /// Replaces a record, however much its owner has.
  public func replace(_ record: StoredRecord, under lease: RecordLease?) async throws(StoreError) {
    try await replace(record, under: lease, within: .unlimited)
  }

  /// Reads a record that does not exist.
  public func check() async throws(StoreError) { _ = try await record(for: nobody) }

  /// Nothing: it is closed when the process ends, not before.
  public func hold(isNested: Bool) throws(StoreError) {}

  /// Nothing.
  public func letGo() {}

  /// Takes a lease of a record that does not exist, and gives it back.
  public func checkWriting() async throws(StoreError) {
    if let lease = try await lease(nobody, for: .seconds(1)) { await release(lease) }
  }
}
