public import Support

/// Where sessions, authorizations under way and profiles are kept.
///
/// What a store returns is what was written: a record that was changed behind its back is `corrupted`, never passed on.
/// Cancelling the calling task changes nothing: what has begun goes to its end. After `unavailable` a write may have
/// happened or not; reading the record tells.
public protocol RecordStore: Sendable {
  /// The record, expired or not, as long as it has not been purged; nil when there is none.
  func record(for key: RecordKey) async throws(StoreError) -> StoredRecord?

  /// The records of `owner`, in no particular order.
  func records(in collection: RecordKey.Collection, ownedBy owner: UInt32) async throws(StoreError) -> [StoredRecord]

  /// Adds a record of version 1. Durable when it returns. `conflict` when the key exists.
  func insert(_ record: StoredRecord) async throws(StoreError)

  /// Replaces a record. Durable when it returns.
  ///
  /// `conflict` unless the stored version is `record.version - 1` and the owner the same; `leaseLost` when a later
  /// lease than `lease` has been granted.
  func replace(_ record: StoredRecord, under lease: RecordLease?) async throws(StoreError)

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

  /// How many of them are `owner`'s; expired ones may be included.
  func count(in collection: RecordKey.Collection, ownedBy owner: UInt32) async throws(StoreError) -> Int

  /// Removes some of what expired before `now`; how many. Call again while it is not 0.
  func purge(expiredAt now: Timestamp) async throws(StoreError) -> Int

  /// Looks whether it can be used now, and changes nothing; throws why not.
  func check() async throws(StoreError)

  /// Finishes what has begun and lets go of files and connections. Later calls fail with `unavailable`.
  func close() async
}

extension RecordStore {
  /// Reads a record that does not exist.
  public func check() async throws(StoreError) {
    let nobody = [UInt8](repeating: 0, count: RecordKey.identifierByteCount)
    _ = try await record(for: RecordKey(collection: .session, id: nobody))
  }
}
