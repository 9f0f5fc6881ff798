package import AuthEngine
package import PosternSupport

/// A store that reports after each write whether writing works.
package struct WatchedRecordStore: RecordStore {
  package let store: any RecordStore
  /// Called with the error of each write, or nil.
  package let report: @Sendable (StoreError?) -> Void

  package init(store: any RecordStore, report: @escaping @Sendable (StoreError?) -> Void) {
    self.store = store
    self.report = report
  }

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

  package func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError) {
    try await write({ _ in true }) { () async throws(StoreError) in try await store.insert(record, within: allowance) }
  }

  package func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError) {
    try await write({ _ in true }) { () async throws(StoreError) in
      try await store.replace(record, under: lease, within: allowance)
    }
  }

  package func remove(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> Bool {
    try await write({ $0 }) { () async throws(StoreError) in try await store.remove(key, by: payer) }
  }

  package func take(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try await write({ $0 != nil }) { () async throws(StoreError) in try await store.take(key, by: payer) }
  }

  package func spend(
    _ value: [UInt8], by share: SpendingShare, until expiry: Timestamp, at now: Timestamp
  ) async throws(StoreError) -> Bool {
    try await write({ $0 }) { () async throws(StoreError) in
      try await store.spend(value, by: share, until: expiry, at: now)
    }
  }

  package func purge(expiredAt now: Timestamp, by payer: UInt32) async throws(StoreError) -> Int {
    try await write({ $0 > 0 }) { () async throws(StoreError) in try await store.purge(expiredAt: now, by: payer) }
  }

  package func checkWriting() async throws(StoreError) {
    try await write({ _ in true }) { () async throws(StoreError) in try await store.checkWriting() }
  }

  // MARK: - Passed on

  package func record(for key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try await store.record(for: key, by: payer)
  }

  package func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int,
    by payer: UInt32
  ) async throws(StoreError) -> RecordPage {
    try await store.records(in: collection, ownedBy: uid, after: position, atMost: count, by: payer)
  }

  package func owners(in collection: RecordKey.Collection, by payer: UInt32) async throws(StoreError) -> Set<UInt32> {
    try await store.owners(in: collection, by: payer)
  }

  package func lease(_ key: RecordKey, for duration: Duration, by payer: UInt32) async throws(StoreError)
    -> RecordLease?
  {
    try await store.lease(key, for: duration, by: payer)
  }

  package func release(_ lease: RecordLease, by payer: UInt32) async { await store.release(lease, by: payer) }

  package func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try await store.count(in: collection)
  }

  package func usage(of uid: UInt32, by payer: UInt32) async throws(StoreError) -> RecordUsage {
    try await store.usage(of: uid, by: payer)
  }

  package func check() async throws(StoreError) { try await store.check() }

  package func beginRetention(isNested: Bool) throws(StoreError) { try store.beginRetention(isNested: isNested) }

  package func endRetention() { store.endRetention() }

  package func close() async { await store.close() }
}

/// Reports the outcome of writes to the session store. Separate because the store is created before the receiver.
package final class StoreWrites: Sendable {
  private struct State {
    var action: (@Sendable (StoreError?) -> Void)?
  }

  private let state = Locked(State())

  package init() {}

  /// Sets the action after each write; it gets the error, or nil.
  func onWrite(_ action: @escaping @Sendable (StoreError?) -> Void) { state.withLock { $0.action = action } }

  /// Reports a write.
  @Sendable package func report(_ fault: StoreError?) { state.withLock { $0.action }?(fault) }
}
