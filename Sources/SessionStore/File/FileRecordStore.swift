public import PosternSupport
public import SessionRecords

/// A store in a directory of its own: SQLite, every record encrypted with AES-256-GCM.
///
/// All file work is done by one thread, which serves users in rotation: reads are answered first, writes are put into
/// one transaction. One process has the store at a time. `close()` stops it properly; a store that is dropped without
/// it stops its thread later, and one whose process was killed or whose machine lost power is as of the last call that
/// had returned.
public final class FileRecordStore: RecordStore {
  /// The location of a store, and its key.
  public struct Configuration: Sendable {
    /// The directory, made when it is missing (not its parents).
    public var directory: String
    /// The key; nil for `postern.key` in the directory, made when the store is made.
    public var key: StoreKey?
    /// Keys that the store may have been written with: its records are encrypted again with `key` while it is opened.
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
  /// The interval of attempts to open a store that another process has.
  private static let lockPause = Duration.milliseconds(50)
  /// The maximum cost of one batch, in ordinary calls: other calls wait for it meanwhile.
  private static let batchLimit = 256
  /// The bytes of a record that cost as much as an ordinary call.
  private static let bytesPerUnit = 2048
  /// The number of counted records that cost as much as an ordinary call.
  private static let rowsPerUnit = 8

  private let queue: WorkQueue<any FileCall>
  private let presence: FileStorePresence
  private let spent: SpentValueLog

  private init(queue: WorkQueue<any FileCall>, presence: FileStorePresence, spent: SpentValueLog) {
    self.queue = queue
    self.presence = presence
    self.spent = spent
  }

  deinit { queue.close() }

  /// Opens the store, or makes it. A store that another process has, which may be about to stop, is waited for as long
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
    let ready = Reply<Result<Opened, StoreError>>()
    try queue.start("postern-store") {
      run(FileStoreOpening(configuration: configuration, options: options), queue, ready)
    }
    let opened = try await ready.value().get()
    return FileRecordStore(queue: queue, presence: opened.presence, spent: opened.spent)
  }

  /// The parts of an open store that calls use.
  private struct Opened: Sendable {
    let presence: FileStorePresence
    let spent: SpentValueLog
  }

  /// The thread.
  private static func run(
    _ opening: FileStoreOpening, _ queue: WorkQueue<any FileCall>,
    _ ready: Reply<Result<Opened, StoreError>>
  ) {
    do throws(StoreError) {
      let opened = try opening.open()
      let spent = SpentValueLog(in: opened.directory)
      ready.fill(.success(Opened(presence: try FileStorePresence(opened.directory), spent: spent)))
      var commit = GroupCommit(opened)
      while let calls = queue.next(atMost: batchLimit) { commit.perform(calls) }
      opened.database.close()
      spent.close()
      // The lock is released last.
      withExtendedLifetime(opened.directory) {}
    } catch { ready.fill(.failure(error)) }
    for call in queue.end() { call.finish(nil) }
  }

  /// The record for `key`.
  public func record(for key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try await call(writes: false, of: payer, surplus: Self.surplus) { table throws(StoreError) in
      try table.record(for: key)
    }
  }

  /// Records of `uid`; `corrupted` when one of them is.
  public func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int,
    by payer: UInt32
  ) async throws(StoreError) -> RecordPage {
    try await call(writes: false, of: payer, cost: Int64(clamping: count)) { table throws(StoreError) in
      try table.records(in: collection, ownedBy: uid, after: position, atMost: count)
    }
  }

  /// The uids that have records.
  public func owners(in collection: RecordKey.Collection, by payer: UInt32) async throws(StoreError) -> Set<UInt32> {
    try await call(writes: false, of: payer, surplus: { Int64($0.count / Self.rowsPerUnit) }) {
      table throws(StoreError) in
      try table.owners(in: collection)
    }
  }

  /// Adds a record.
  public func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError) {
    try record.checkStorable()
    if allowance != .unlimited {
      // Where there is no capacity anyway nothing is written; and records that have to be counted are counted once,
      // before others wait for it.
      let usage = try await usage(of: record.uid, by: record.uid)
      if allowance.replaceable == nil { try allowance.check(adding: record, to: usage) }
    }
    _ = try await call(writes: true, of: record.uid, cost: Self.cost(record), surplus: { Int64($0) }) {
      table throws(StoreError) in try table.insert(record, within: allowance)
    }
  }

  /// Replaces a record. The lease does not matter: the store belongs to one process.
  public func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError) {
    try record.checkStorable()
    _ = try await call(writes: true, of: record.uid, cost: Self.cost(record), surplus: { Int64($0) }) {
      table throws(StoreError) in try table.replace(record, within: allowance)
    }
  }

  /// Removes a record, a damaged one too.
  public func remove(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> Bool {
    try await call(writes: true, of: payer) { table throws(StoreError) in try table.remove(key) }
  }

  /// Removes a record and returns it.
  public func take(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try await call(writes: true, of: payer, surplus: Self.surplus) { table throws(StoreError) in try table.take(key) }
  }

  /// Records a use in a file of its own, over the end of the process, not over a loss of power. Not in a transaction:
  /// there may be thousands in a second, and none is needed for longer than minutes.
  public func spend(
    _ value: [UInt8], by share: SpendingShare, until expiry: Timestamp, at now: Timestamp
  ) async throws(StoreError) -> Bool {
    let identity = try SpentValues.identity(value)
    return try await call(writes: false, of: share.uid) { [spent] _ throws(StoreError) in
      try spent.spend(identity, by: share, until: expiry, at: now)
    }
  }

  /// Always granted.
  public func lease(_ key: RecordKey, for duration: Duration, by payer: UInt32) async throws(StoreError) -> RecordLease?
  {
    RecordLease(key: key, fence: 0, token: [])
  }

  /// Without effect.
  public func release(_ lease: RecordLease, by payer: UInt32) async {}

  /// How many records there are.
  public func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try await call(writes: false) { table throws(StoreError) in try table.count(in: collection) }
  }

  /// How much `uid` has.
  public func usage(of uid: UInt32, by payer: UInt32) async throws(StoreError) -> RecordUsage {
    let summed: Summed = try await call(writes: false, of: payer, surplus: { $0.surplus }) {
      table throws(StoreError) -> Summed in
      let isKnown = table.knownUsage(of: uid) != nil
      return Summed(usage: try table.usage(of: uid), isKnown: isKnown)
    }
    return summed.usage
  }

  /// Removes what expired before `now`.
  public func purge(expiredAt now: Timestamp, by payer: UInt32) async throws(StoreError) -> Int {
    try await call(writes: true, of: payer) { table throws(StoreError) in try table.purge(expiredAt: now) }
  }

  /// Checks whether the database file is still there, could be written, and answers.
  public func check() async throws(StoreError) {
    try await call(writes: false) { [presence] table throws(StoreError) in
      try presence.check()
      _ = try table.count(in: .session)
    }
  }

  /// Writes existing content once more.
  public func checkWriting() async throws(StoreError) {
    try await call(writes: true) { table throws(StoreError) in try table.rewriteFacts() }
  }

  /// Completes waiting calls, writes the log back into the database and closes the files.
  public func close() async { await queue.closeAndWait() }

  /// A usage, and whether all of the uid's records had to be read for it.
  private struct Summed: Sendable {
    let usage: RecordUsage
    let isKnown: Bool

    var surplus: Int64 { isKnown ? 0 : Int64(usage.counts.values.reduce(0, +) / FileRecordStore.rowsPerUnit) }
  }

  private static func cost(_ record: StoredRecord) -> Int64 { 1 + surplus(record) }

  /// The additional cost of a record, compared with an ordinary call.
  @Sendable private static func surplus(_ record: StoredRecord?) -> Int64 {
    Int64((record?.contents.byteCount ?? 0) / bytesPerUnit)
  }

  /// Runs `body` on the thread in the rotation of users, for `payer`. `cost` is
  /// known before; `surplus` is the additional cost of its outcome.
  private func call<Value: Sendable>(
    writes: Bool, of payer: UInt32 = PeerID.process.uid, cost: Int64 = 1,
    surplus: @escaping @Sendable (Value) -> Int64 = { _ in 0 },
    _ body: @escaping @Sendable (inout RecordTable) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let reply = Reply<Result<Value, StoreError>>()
    let call = TypedFileCall(writes: writes, reply: reply) { [queue] table throws(StoreError) -> Value in
      let value = try body(&table)
      queue.charge(payer, surplus(value))
      return value
    }
    if let rejection = queue.submit(call, of: payer, cost: cost) { throw rejection }
    return try await reply.value().get()
  }
}

extension FileRecordStore: ConciseStringConvertible {}

extension FileRecordStore.Configuration: ConciseStringConvertible {
  /// The directory: never a key.
  public var description: String { "record store in \(Concise.name(directory))" }
}
