public import PosternSupport
public import SessionRecords

/// A store in a Redis server, for several sidecars that share their sessions. Every record is encrypted here, with
/// AES-256-GCM and a key that all of them have; the server sees who owns a record and when it expires.
///
/// The durability of a write when it returns depends on the server's configuration. One thread uses one connection; a
/// lost one is made again when it is next needed, with a delay that grows while that fails.
public final class RedisRecordStore: RecordStore {
  /// The server, and the key.
  public struct Configuration: Sendable {
    /// `rediss://host:port/database`, `redis://…` without TLS, or `unix:///path?db=0`.
    public var url: String
    /// The key of the records, the same for all who share the store.
    public var key: StoreKey
    /// Keys that records may have been written with; further writes use `key`.
    public var previousKeys: [StoreKey] = []
    /// The user to log in as; nil for the default one.
    public var username: String?
    /// The password; nil for none.
    public var password: Secret<String>?
    /// A PEM file with the authorities that may vouch for the server; nil for the system's.
    public var caFile: String?
    /// The prefix that separates the keys of one store from those of another in the same database: a name in braces, as
    /// in `postern:{sessions}:…`.
    public var name = "sessions"
    /// The timeout of connecting; TLS has the same time in addition.
    public var connectTimeout = Duration.seconds(2)
    /// The timeout of an answer.
    public var commandTimeout = Duration.seconds(2)

    /// A store in the server at `url`.
    public init(url: String, key: StoreKey) {
      self.url = url
      self.key = key
    }
  }

  private static let queueCapacity = 2000

  private let queue: WorkQueue<RedisCall>
  /// The uses of this process: they bound what it adds to the server, and answer for a value that comes again here.
  private let spent = Locked(SpentValues())

  private init(queue: WorkQueue<RedisCall>) { self.queue = queue }

  deinit { queue.close() }

  /// Connects.
  ///
  /// - Throws: `unavailable` when the server cannot be reached; `unusable` for a bad address, rejected credentials and
  ///   a newer format; `keyMismatch`.
  public static func open(_ configuration: Configuration) async throws(StoreError) -> RedisRecordStore {
    try await open(configuration, clock: SystemClock())
  }

  static func open(
    _ configuration: Configuration, clock: any EngineClock
  ) async throws(StoreError) -> RedisRecordStore {
    let address = try RedisAddress(configuration.url)
    let queue = WorkQueue<RedisCall>(capacity: queueCapacity)
    let ready = Reply<Result<Void, StoreError>>()
    try queue.start("postern-redis") { run(configuration, address, clock, queue, ready) }
    try await ready.value().get()
    return RedisRecordStore(queue: queue)
  }

  /// The thread.
  private static func run(
    _ configuration: Configuration, _ address: RedisAddress, _ clock: any EngineClock, _ queue: WorkQueue<RedisCall>,
    _ ready: Reply<Result<Void, StoreError>>
  ) {
    let link = RedisLink(configuration, address: address, clock: clock)
    do throws(StoreError) {
      try link.open()
      ready.fill(.success(()))
      let table = RedisTable(link: link, removals: KnownRemovals(clock: clock))
      while let calls = queue.next(atMost: 1) {
        for call in calls { call.run(table) }
      }
      link.close()
    } catch { ready.fill(.failure(error)) }
    for call in queue.end() { call.reject(StoreError(.unavailable, "the store is closed")) }
  }

  /// The record for `key`.
  public func record(for key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try await call(of: payer) { table throws(StoreError) in try table.record(for: key) }
  }

  /// Records of `uid`; `corrupted` when one of them is.
  public func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int,
    by payer: UInt32
  ) async throws(StoreError) -> RecordPage {
    try await call(of: payer, cost: Int64(clamping: count)) { table throws(StoreError) in
      try table.records(in: collection, ownedBy: uid, after: position, atMost: count)
    }
  }

  /// The uids that have records.
  public func owners(in collection: RecordKey.Collection, by payer: UInt32) async throws(StoreError) -> Set<UInt32> {
    try await call(of: payer) { table throws(StoreError) in try table.owners(in: collection) }
  }

  /// Adds a record.
  public func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError) {
    try record.checkStorable()
    try await call(of: record.uid) { table throws(StoreError) in try table.insert(record, within: allowance) }
  }

  /// Replaces a record.
  public func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError) {
    try record.checkStorable()
    try await call(of: record.uid) { table throws(StoreError) in
      try table.replace(record, under: lease, within: allowance)
    }
  }

  /// Removes a record, a damaged one too.
  public func remove(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> Bool {
    try await call(of: payer) { table throws(StoreError) in try table.remove(key) }
  }

  /// Removes a record and returns it.
  public func take(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try await call(of: payer) { table throws(StoreError) in try table.take(key) }
  }

  /// Records a use, among all sidecars that share the store.
  public func spend(
    _ value: [UInt8], by share: SpendingShare, until expiry: Timestamp, at now: Timestamp
  ) async throws(StoreError) -> Bool {
    let identity = try SpentValues.identity(value)
    let isFirstHere = try spent.withLock { spent throws(StoreError) in
      try spent.spend(identity, by: share, until: expiry, at: now)
    }
    guard isFirstHere else { return false }
    do throws(StoreError) {
      return try await call(of: share.uid) { table throws(StoreError) in
        try table.spend(identity.bytes, for: expiry - now)
      }
    } catch {
      // No verdict came of it, so that the same value may be tried again.
      spent.withLock { $0.remove(identity) }
      throw error
    }
  }

  /// Takes the right to refresh a record, among all sidecars that share the store.
  public func lease(_ key: RecordKey, for duration: Duration, by payer: UInt32) async throws(StoreError) -> RecordLease?
  {
    try await call(of: payer) { table throws(StoreError) in try table.lease(key, for: duration) }
  }

  /// Gives a lease back; when that fails, it expires.
  public func release(_ lease: RecordLease, by payer: UInt32) async {
    try? await call(of: payer) { table throws(StoreError) in try table.release(lease) }
  }

  /// How many records there are.
  public func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try await call { table throws(StoreError) in try table.count(in: collection) }
  }

  /// How much `uid` has.
  public func usage(of uid: UInt32, by payer: UInt32) async throws(StoreError) -> RecordUsage {
    try await call(of: payer) { table throws(StoreError) in try table.usage(of: uid) }
  }

  /// Removes what expired before `now`.
  public func purge(expiredAt now: Timestamp, by payer: UInt32) async throws(StoreError) -> Int {
    try await call(of: payer) { table throws(StoreError) in try table.purge(expiredAt: now) }
  }

  /// Completes waiting calls and disconnects.
  public func close() async { await queue.closeAndWait() }

  private func call<Value: Sendable>(
    of payer: UInt32 = PeerID.process.uid, cost: Int64 = 1,
    _ body: @escaping @Sendable (RedisTable) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let reply = Reply<Result<Value, StoreError>>()
    let call = RedisCall(
      run: { table in reply.fill(Result { () throws(StoreError) in try body(table) }) },
      reject: { reply.fill(.failure($0)) })
    if let rejection = queue.submit(call, of: payer, cost: cost) { throw rejection }
    return try await reply.value().get()
  }
}

extension RedisRecordStore: ConciseStringConvertible {}

extension RedisRecordStore.Configuration: ConciseStringConvertible {
  /// The prefix: the URL may have a password.
  public var description: String { "record store in Redis, \(Concise.name(name))" }
}

/// One call of a Redis store, carried out by the store's thread.
struct RedisCall: Sendable {
  /// Does the work and answers the caller.
  let run: @Sendable (RedisTable) -> Void
  /// Answers the caller without.
  let reject: @Sendable (StoreError) -> Void
}
