public import AuthEngine
public import Support

/// A store in a directory of its own: SQLite, every record encrypted with AES-256-GCM.
///
/// All file work is done by one thread, which puts calls that wait into one transaction. One process has the store at a
/// time. A clean end is `close()`; a store that is dropped without it ends its thread in its own time, and one whose
/// process was killed or whose machine lost power is as of the last call that had returned.
public final class FileRecordStore: RecordStore {
  /// Where a store is and with which key.
  public struct Configuration: Sendable {
    /// The directory, made when it is missing (not its parents).
    public var directory: String
    /// The key; nil for `postern.key` in the directory, made when the store is made.
    public var key: StoreKey?
    /// Keys the store may have been written with: its records are encrypted anew with `key` while it is opened.
    public var previousKeys: [StoreKey]
    /// Directories that systemd keeps for this service (`$STATE_DIRECTORY`): where one of them is a link that root has made, it is followed.
    public var stateDirectories: [String] = []

    /// A store in `directory`.
    public init(directory: String, key: StoreKey? = nil, previousKeys: [StoreKey] = []) {
      self.directory = directory
      self.key = key
      self.previousKeys = previousKeys
    }
  }

  private static let queueCapacity = 10_000
  private static let batchLimit = 256

  private let queue: WorkQueue<any FileCall>
  private let presence: FileStorePresence

  private init(queue: WorkQueue<any FileCall>, presence: FileStorePresence) {
    self.queue = queue
    self.presence = presence
  }

  deinit { queue.close() }

  /// Opens the store, or makes it.
  ///
  /// - Throws: `locked`, `keyMismatch`, `corrupted`, `unusable` or `unavailable`; the files are as before then.
  public static func open(_ configuration: Configuration) async throws(StoreError) -> FileRecordStore {
    try await open(configuration, options: FileStoreOptions())
  }

  static func open(
    _ configuration: Configuration, options: FileStoreOptions
  ) async throws(StoreError) -> FileRecordStore {
    let queue = WorkQueue<any FileCall>(capacity: queueCapacity)
    let ready = Reply<Result<FileStorePresence, StoreError>>()
    try StoreThread.start("postern-store") {
      run(FileStoreOpening(configuration: configuration, options: options), queue, ready)
    }
    return FileRecordStore(queue: queue, presence: try await ready.value().get())
  }

  /// The thread.
  private static func run(
    _ opening: FileStoreOpening, _ queue: WorkQueue<any FileCall>,
    _ ready: Reply<Result<FileStorePresence, StoreError>>
  ) {
    do throws(StoreError) {
      let opened = try opening.open()
      ready.fill(.success(try FileStorePresence(opened.directory)))
      var commit = GroupCommit(opened)
      while let calls = queue.next(atMost: batchLimit) { commit.perform(calls) }
      opened.database.close()
      // The lock goes last.
      withExtendedLifetime(opened.directory) {}
    } catch { ready.fill(.failure(error)) }
    for call in queue.end() { call.finish(nil) }
  }

  /// The record for `key`.
  public func record(for key: RecordKey) async throws(StoreError) -> StoredRecord? {
    try await call(writes: false) { table throws(StoreError) in try table.record(for: key) }
  }

  /// The records of `owner`; `corrupted` when one of them is.
  public func records(
    in collection: RecordKey.Collection, ownedBy owner: UInt32
  ) async throws(StoreError) -> [StoredRecord] {
    try await call(writes: false) { table throws(StoreError) in try table.records(in: collection, ownedBy: owner) }
  }

  /// Adds a record.
  public func insert(_ record: StoredRecord) async throws(StoreError) {
    try record.checkStorable()
    try await call(writes: true) { table throws(StoreError) in try table.insert(record) }
  }

  /// Replaces a record. The lease does not matter: the store belongs to one process.
  public func replace(_ record: StoredRecord, under lease: RecordLease?) async throws(StoreError) {
    try record.checkStorable()
    try await call(writes: true) { table throws(StoreError) in try table.replace(record) }
  }

  /// Removes a record, a damaged one too.
  public func remove(_ key: RecordKey) async throws(StoreError) -> Bool {
    try await call(writes: true) { table throws(StoreError) in try table.remove(key) }
  }

  /// Removes a record and returns it.
  public func take(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
    try await call(writes: true) { table throws(StoreError) in try table.take(key) }
  }

  /// Always granted.
  public func lease(_ key: RecordKey, for duration: Duration) async throws(StoreError) -> RecordLease? {
    RecordLease(key: key, fence: 0, token: [])
  }

  /// Without effect.
  public func release(_ lease: RecordLease) async {}

  /// How many records there are.
  public func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try await call(writes: false) { table throws(StoreError) in try table.count(in: collection) }
  }

  /// How many of them are `owner`'s.
  public func count(
    in collection: RecordKey.Collection, ownedBy owner: UInt32
  ) async throws(StoreError) -> Int {
    try await call(writes: false) { table throws(StoreError) in try table.count(in: collection, ownedBy: owner) }
  }

  /// Removes what expired before `now`.
  public func purge(expiredAt now: Timestamp) async throws(StoreError) -> Int {
    try await call(writes: true) { table throws(StoreError) in try table.purge(expiredAt: now) }
  }

  /// Looks whether the database is where it was, could be written, and answers.
  public func check() async throws(StoreError) {
    try await call(writes: false) { [presence] table throws(StoreError) in
      try presence.check()
      _ = try table.count(in: .session)
    }
  }

  /// Finishes what waits, writes the log back into the database and closes the files.
  public func close() async { await queue.closeAndWait() }

  private func call<Value: Sendable>(
    writes: Bool, _ body: @escaping @Sendable (inout RecordTable) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let reply = Reply<Result<Value, StoreError>>()
    if let refusal = queue.submit(TypedFileCall(writes: writes, reply: reply, body: body)) { throw refusal }
    return try await reply.value().get()
  }
}
