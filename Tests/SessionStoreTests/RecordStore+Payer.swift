import PosternSupport
import SessionRecords

/// Operations that uid 1 pays for, where a test is not about that.
extension RecordStore {
  func record(for key: RecordKey) async throws(StoreError) -> StoredRecord? { try await record(for: key, by: 1) }

  func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int
  ) async throws(StoreError) -> RecordPage {
    try await records(in: collection, ownedBy: uid, after: position, atMost: count, by: 1)
  }

  func owners(in collection: RecordKey.Collection) async throws(StoreError) -> Set<UInt32> {
    try await owners(in: collection, by: 1)
  }

  func remove(_ key: RecordKey) async throws(StoreError) -> Bool { try await remove(key, by: 1) }

  func take(_ key: RecordKey) async throws(StoreError) -> StoredRecord? { try await take(key, by: 1) }

  func lease(_ key: RecordKey, for duration: Duration) async throws(StoreError) -> RecordLease? {
    try await lease(key, for: duration, by: 1)
  }

  func release(_ lease: RecordLease) async { await release(lease, by: 1) }

  func usage(of uid: UInt32) async throws(StoreError) -> RecordUsage { try await usage(of: uid, by: 1) }

  func purge(expiredAt now: Timestamp) async throws(StoreError) -> Int { try await purge(expiredAt: now, by: 1) }
}
