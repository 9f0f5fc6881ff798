public import Support

/// A store that is opened when it is first needed: a sidecar that nobody asks for sessions needs none.
///
/// An attempt that failed is told to whoever asked, and made again for the next.
public final class DeferredRecordStore: RecordStore {
  private struct Key: Hashable, Sendable {}

  private let opened = Locked<(any RecordStore)?>(nil)
  private let flights: SingleFlight<Key, any RecordStore, StoreError>
  private let open: @Sendable () async throws(StoreError) -> any RecordStore
  /// Whether it is certain that it will be needed.
  public let isNeeded: Bool

  /// A store that `open` opens. One that `isNeeded` is opened also to find out whether it can be.
  public init(
    clock: some EngineClock, isNeeded: Bool = false,
    open: @escaping @Sendable () async throws(StoreError) -> any RecordStore
  ) {
    flights = SingleFlight(clock: clock)
    self.isNeeded = isNeeded
    self.open = open
  }

  /// Whether it has been opened.
  public var isOpen: Bool { opened.withLock { $0 != nil } }

  /// The store itself, opened if need be.
  public func store() async throws(StoreError) -> any RecordStore {
    if let store = opened.withLock({ $0 }) { return store }
    do throws(SingleFlightError<StoreError>) {
      return try await flights.value(for: Key()) { [self] () async throws(StoreError) in
        if let store = opened.withLock({ $0 }) { return store }
        let store = try await open()
        opened.withLock { $0 = store }
        return store
      }
    } catch {
      switch error {
      case .failed(let error): throw error
      case .cancelled, .deadlineExceeded: throw StoreError(.unavailable, "the wait for the store was cancelled")
      }
    }
  }

  /// The record.
  public func record(for key: RecordKey) async throws(StoreError) -> StoredRecord? {
    try await store().record(for: key)
  }

  /// The records of `owner`.
  public func records(
    in collection: RecordKey.Collection, ownedBy owner: UInt32
  ) async throws(StoreError) -> [StoredRecord] {
    try await store().records(in: collection, ownedBy: owner)
  }

  /// Adds a record.
  public func insert(_ record: StoredRecord) async throws(StoreError) { try await store().insert(record) }

  /// Replaces a record.
  public func replace(_ record: StoredRecord, under lease: RecordLease?) async throws(StoreError) {
    try await store().replace(record, under: lease)
  }

  /// Removes a record.
  public func remove(_ key: RecordKey) async throws(StoreError) -> Bool { try await store().remove(key) }

  /// Removes a record and returns it.
  public func take(_ key: RecordKey) async throws(StoreError) -> StoredRecord? { try await store().take(key) }

  /// A lease.
  public func lease(_ key: RecordKey, for duration: Duration) async throws(StoreError) -> RecordLease? {
    try await store().lease(key, for: duration)
  }

  /// Gives a lease back.
  public func release(_ lease: RecordLease) async { await opened.withLock { $0 }?.release(lease) }

  /// How many records there are.
  public func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try await store().count(in: collection)
  }

  /// How many of them are `owner`'s.
  public func count(
    in collection: RecordKey.Collection, ownedBy owner: UInt32
  ) async throws(StoreError) -> Int {
    try await store().count(in: collection, ownedBy: owner)
  }

  /// Removes what expired.
  public func purge(expiredAt now: Timestamp) async throws(StoreError) -> Int {
    guard let store = opened.withLock({ $0 }) else { return 0 }
    return try await store.purge(expiredAt: now)
  }

  /// Looks whether it can be used; one that nobody has needed yet, and nobody will for certain, is left alone.
  public func check() async throws(StoreError) {
    guard isNeeded || isOpen else { return }
    try await store().check()
  }

  /// Closes what has been opened.
  public func close() async { await opened.withLock { $0 }?.close() }
}
