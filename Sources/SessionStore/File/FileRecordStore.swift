public import PosternSupport
public import SessionRecords

/// A store in a directory of its own: SQLite, every record encrypted with AES-256-GCM.
///
/// All file work is done by one thread, which takes the calls in turns of the users they are for: those that read are
/// answered first, those that write are put into one transaction. One process has the store at a time. A clean end is
/// `close()`; a store that is dropped without it ends its thread in its own time, and one whose process was killed or
/// whose machine lost power is as of the last call that had returned.
public final class FileRecordStore: RecordStore {
  /// Where a store is and with which key.
  public struct Configuration: Sendable {
    /// The directory, made when it is missing (not its parents).
    public var directory: String
    /// The key; nil for `postern.key` in the directory, made when the store is made.
    public var key: StoreKey?
    /// Keys the store may have been written with: its records are encrypted anew with `key` while it is opened.
    public var previousKeys: [StoreKey]
    /// Directories that systemd keeps for this service (`$STATE_DIRECTORY`): where one of them is a link that root has
    /// made, it is followed.
    public var stateDirectories: [String] = []

    /// A store in `directory`.
    public init(directory: String, key: StoreKey? = nil, previousKeys: [StoreKey] = []) {
      self.directory = directory
      self.key = key
      self.previousKeys = previousKeys
    }
  }

  private static let queueCapacity = 10_000
  /// How often a store that another process has is looked at.
  private static let lockPause = Duration.milliseconds(50)
  /// What one batch may cost, in ordinary calls: whoever asks meanwhile waits for it.
  private static let batchLimit = 256
  /// So many bytes of a record cost as much as an ordinary call.
  private static let bytesPerTurn = 2048
  /// And so many records that are counted.
  private static let rowsPerTurn = 8

  private let queue: WorkQueue<any FileCall>
  private let presence: FileStorePresence

  private init(queue: WorkQueue<any FileCall>, presence: FileStorePresence) {
    self.queue = queue
    self.presence = presence
  }

  deinit { queue.close() }

  /// Opens the store, or makes it. One that another process has, which is about to end perhaps, is waited for as long
  /// as `patience`.
  ///
  /// - Throws: `locked`, `keyMismatch`, `corrupted`, `unusable` or `unavailable`; the files are as before then.
  public static func open(
    _ configuration: Configuration, patience: Duration = .zero, clock: any EngineClock = SystemClock()
  ) async throws(StoreError) -> FileRecordStore {
    let deadline = clock.monotonicNow + patience
    while true {
      do throws(StoreError) {
        return try await open(configuration, options: FileStoreOptions())
      } catch {
        guard error.kind == .locked, clock.monotonicNow < deadline, (try? await clock.sleep(for: lockPause)) != nil
        else { throw error }
      }
    }
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
    try await call(writes: false, surplus: Self.surplus) { table throws(StoreError) in try table.record(for: key) }
  }

  /// Records of `owner`; `corrupted` when one of them is.
  public func records(
    in collection: RecordKey.Collection, ownedBy owner: UInt32, after position: Int64, atMost count: Int
  ) async throws(StoreError) -> RecordPage {
    try await call(writes: false, cost: Int64(clamping: count)) { table throws(StoreError) in
      try table.records(in: collection, ownedBy: owner, after: position, atMost: count)
    }
  }

  /// Adds a record.
  public func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError) {
    try record.checkStorable()
    if allowance != .unlimited {
      // Where there is no room anyway nothing is written; and what has to be counted is counted once, before others
      // wait for it.
      try allowance.check(adding: record, to: try await usage(of: record.owner))
    }
    try await call(writes: true, of: record.owner, cost: Self.cost(record)) { table throws(StoreError) in
      try table.insert(record, within: allowance)
    }
  }

  /// Replaces a record. The lease does not matter: the store belongs to one process.
  public func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError) {
    try record.checkStorable()
    try await call(writes: true, of: record.owner, cost: Self.cost(record)) { table throws(StoreError) in
      try table.replace(record, within: allowance)
    }
  }

  /// Removes a record, a damaged one too.
  public func remove(_ key: RecordKey) async throws(StoreError) -> Bool {
    try await call(writes: true) { table throws(StoreError) in try table.remove(key) }
  }

  /// Removes a record and returns it.
  public func take(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
    try await call(writes: true, surplus: Self.surplus) { table throws(StoreError) in try table.take(key) }
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

  /// How much `owner` has.
  public func usage(of owner: UInt32) async throws(StoreError) -> RecordUsage {
    let summed: Summed = try await call(writes: false, surplus: { $0.surplus }) { table throws(StoreError) -> Summed in
      let isKnown = table.knownUsage(of: owner) != nil
      return Summed(usage: try table.usage(of: owner), isKnown: isKnown)
    }
    return summed.usage
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

  /// Writes what stands there already.
  public func checkWriting() async throws(StoreError) {
    try await call(writes: true) { table throws(StoreError) in try table.rewriteFacts() }
  }

  /// Finishes what waits, writes the log back into the database and closes the files.
  public func close() async { await queue.closeAndWait() }

  /// A usage, and whether all of the owner's records had to be looked at for it.
  private struct Summed: Sendable {
    let usage: RecordUsage
    let isKnown: Bool

    var surplus: Int64 { isKnown ? 0 : Int64(usage.counts.values.reduce(0, +) / FileRecordStore.rowsPerTurn) }
  }

  private static func cost(_ record: StoredRecord) -> Int64 { 1 + surplus(record) }

  /// What a record costs beyond an ordinary call.
  @Sendable private static func surplus(_ record: StoredRecord?) -> Int64 {
    Int64((record?.contents.byteCount ?? 0) / bytesPerTurn)
  }

  /// Has the thread do `body` when it is the turn of `owner` (nil: of whoever the running task works for). `cost` is
  /// known before; `surplus` says what its outcome has cost beyond that.
  private func call<Value: Sendable>(
    writes: Bool, of owner: UInt32? = nil, cost: Int64 = 1, surplus: @escaping @Sendable (Value) -> Int64 = { _ in 0 },
    _ body: @escaping @Sendable (inout RecordTable) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let reply = Reply<Result<Value, StoreError>>()
    let payer = owner ?? Requesting.uid ?? Requester.process.uid
    let call = TypedFileCall(writes: writes, reply: reply) { [queue] table throws(StoreError) -> Value in
      let value = try body(&table)
      queue.charge(payer, surplus(value))
      return value
    }
    if let refusal = queue.submit(call, of: payer, cost: cost) { throw refusal }
    return try await reply.value().get()
  }
}
