import AuthEngine
import PosternSupport

/// A store whose writes tell at once whether writing works, and not only those who look after it now and then.
struct WatchedRecordStore: RecordStore {
  let store: any RecordStore
  /// Told how a write went; nil for well.
  let report: @Sendable (StoreError?) -> Void

  /// Carries out a write, which may find that there is nothing to be written.
  private func write<Value>(
    _ isWritten: (Value) -> Bool, _ body: () async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    do throws(StoreError) {
      let value = try await body()
      if isWritten(value) { report(nil) }
      return value
    } catch {
      if error.isOutage { report(error) }
      throw error
    }
  }

  func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError) {
    try await write({ _ in true }) { () async throws(StoreError) in try await store.insert(record, within: allowance) }
  }

  func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError) {
    try await write({ _ in true }) { () async throws(StoreError) in
      try await store.replace(record, under: lease, within: allowance)
    }
  }

  func remove(_ key: RecordKey) async throws(StoreError) -> Bool {
    try await write({ $0 }) { () async throws(StoreError) in try await store.remove(key) }
  }

  func take(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
    try await write({ $0 != nil }) { () async throws(StoreError) in try await store.take(key) }
  }

  func purge(expiredAt now: Timestamp) async throws(StoreError) -> Int {
    try await write({ $0 > 0 }) { () async throws(StoreError) in try await store.purge(expiredAt: now) }
  }

  func checkWriting() async throws(StoreError) {
    try await write({ _ in true }) { () async throws(StoreError) in try await store.checkWriting() }
  }

  // MARK: - Passed on

  func record(for key: RecordKey) async throws(StoreError) -> StoredRecord? { try await store.record(for: key) }

  func records(
    in collection: RecordKey.Collection, ownedBy owner: UInt32, after position: Int64, atMost count: Int
  ) async throws(StoreError) -> RecordPage {
    try await store.records(in: collection, ownedBy: owner, after: position, atMost: count)
  }

  func lease(_ key: RecordKey, for duration: Duration) async throws(StoreError) -> RecordLease? {
    try await store.lease(key, for: duration)
  }

  func release(_ lease: RecordLease) async { await store.release(lease) }

  func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try await store.count(in: collection)
  }

  func usage(of owner: UInt32) async throws(StoreError) -> RecordUsage { try await store.usage(of: owner) }

  func check() async throws(StoreError) { try await store.check() }

  func hold(isNested: Bool) throws(StoreError) { try store.hold(isNested: isNested) }

  func letGo() { store.letGo() }

  func close() async { await store.close() }
}
