public import PosternSupport

/// A store of sessions, pending authorizations and profiles.
///
/// A store returns exactly what was written: a record that was changed otherwise is `corrupted`, never passed on.
/// Cancelling the calling task changes nothing: an operation that has started runs to its end. It waits in the queue of
/// the uid `payer`; without `payer` in that of its record's uid, and without a record in the process's own. After
/// `unavailable` a write may have happened or not; reading the record shows it.
public protocol RecordStore: Sendable {
  /// Returns the record, expired or not, as long as it has not been purged; nil when there is none.
  func record(for key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord?

  /// Returns records of `uid` after `position` (0: from the first on), in the order in which they were added: at most
  /// `count`, and fewer where they are large. `corrupted` when one of them is. A caller that needs all of them reads
  /// page after page, and yields in between.
  func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int,
    by payer: UInt32
  ) async throws(StoreError) -> RecordPage

  /// Returns the uids that have records in a collection, in no order. One whose records all appear or all disappear
  /// during the call may be among them or not.
  func owners(in collection: RecordKey.Collection, by payer: UInt32) async throws(StoreError) -> Set<UInt32>

  /// Adds a record of version 1. Durable when it returns. `conflict` when the key exists; `overdrawn` when its uid
  /// has used up `allowance` already, whatever else is added at the same time. Where that names a `replaceable`
  /// collection, the uid's oldest records in it are removed by the same step, as many as are needed; with an error none
  /// are.
  func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError)

  /// Replaces a record. Durable when it returns.
  ///
  /// `conflict` unless the stored version is `record.version - 1` and the uid the same; `leaseLost` when a later
  /// lease than `lease` has been granted; `overdrawn` when it grows beyond the bytes of `allowance`, for which other
  /// records are removed as by `insert`.
  func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError)

  /// Removes a record. Durable when it returns. True when there was one.
  func remove(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> Bool

  /// Removes a record and returns it: of several callers one gets it. Durable when it returns.
  func take(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord?

  /// Records that a value which is good for one use has been used: true for the first of any number of calls, in all
  /// processes that use the store, false for the others until `expiry`.
  ///
  /// `value` is the value's hash, 32 bytes, and `expiry` at most an hour from `now`. The record outlives the
  /// process where the store does. `unavailable` without capacity: never is a record dropped before its end. The record
  /// takes a part of the capacity of `share`.
  func spend(
    _ value: [UInt8], by share: SpendingShare, until expiry: Timestamp, at now: Timestamp
  ) async throws(StoreError) -> Bool

  /// Takes the exclusive right to refresh a record, for at most `duration`; nil while another process has it.
  ///
  /// A store that one process has exclusively always grants it: inside a process the callers are serialized otherwise.
  func lease(_ key: RecordKey, for duration: Duration, by payer: UInt32) async throws(StoreError) -> RecordLease?

  /// Gives a lease back before its time; without effect when it is no longer the current one.
  func release(_ lease: RecordLease, by payer: UInt32) async

  /// Returns the number of records, including expired ones that have not been purged.
  func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int

  /// Returns the usage of `uid`; where other processes write too, as of a moment ago.
  func usage(of uid: UInt32, by payer: UInt32) async throws(StoreError) -> RecordUsage

  /// Removes some records that expired before `now`; returns their number. To be called again while it is not 0.
  func purge(expiredAt now: Timestamp, by payer: UInt32) async throws(StoreError) -> Int

  /// Checks whether the store can be used now, without a change; throws the reason why not.
  func check() async throws(StoreError)

  /// Makes a write without effect; throws the reason why it failed.
  func checkWriting() async throws(StoreError)

  /// Starts an operation whose outcome has to be written, since it may not be available again: the store is released to
  /// no other process before the operation calls the counterpart of this function. Throws `locked` when the release has
  /// started, unless the operation is a part (`isNested`) of one that started before.
  func beginRetention(isNested: Bool) throws(StoreError)

  /// Ends the operation.
  func endRetention()

  /// Completes operations that have started, and closes files and connections. Later calls fail with `unavailable`.
  func close() async
}

extension RecordStore {
  private var unusedKey: RecordKey {
    RecordKey(collection: .session, id: [UInt8](repeating: 0, count: RecordKey.identifierByteCount))
  }

  /// Adds a record of the use, which expires. It belongs to no uid: a uid's own records may be replaced by newer ones.
  public func spend(
    _ value: [UInt8], by share: SpendingShare, until expiry: Timestamp, at now: Timestamp
  ) async throws(StoreError) -> Bool {
    guard value.count >= RecordKey.identifierByteCount else { throw StoreError(.invalid, "the hash is too short") }
    let id = Array(value.prefix(RecordKey.identifierByteCount))
    do throws(StoreError) {
      try await insert(
        StoredRecord(
          key: RecordKey(collection: .registration, id: id), uid: .max, version: 1, expiresAt: expiry,
          contents: Secret(Array("{}".utf8))))
      return true
    } catch {
      guard error.kind == .conflict else { throw error }
      return false
    }
  }

  /// Adds a record, however much its uid has.
  public func insert(_ record: StoredRecord) async throws(StoreError) { try await insert(record, within: .unlimited) }

  /// Replaces a record, however much its uid has.
  public func replace(_ record: StoredRecord, under lease: RecordLease?) async throws(StoreError) {
    try await replace(record, under: lease, within: .unlimited)
  }

  /// Reads a record that does not exist.
  public func check() async throws(StoreError) { _ = try await record(for: unusedKey, by: PeerID.process.uid) }

  /// Does nothing: the store is closed when the process stops, and not before.
  public func beginRetention(isNested: Bool) throws(StoreError) {}

  /// Does nothing.
  public func endRetention() {}

  /// Takes a lease of a record that does not exist, and gives it back.
  public func checkWriting() async throws(StoreError) {
    let uid = PeerID.process.uid
    if let lease = try await lease(unusedKey, for: .seconds(1), by: uid) { await release(lease, by: uid) }
  }
}
