import PosternCrypto
import PosternSupport
import SessionRecords

/// The work of the calls of a Redis store.
struct RedisTable {
  /// The server forgets a record by itself only this long after its expiry: its clock may be ahead of ours.
  private static let grace = Duration.seconds(60)
  /// The latest time Redis takes.
  private static let latest: Int64 = 1 << 52
  private static let purgeLimit = 500
  private static let tokenByteCount = 16

  let link: RedisLink
  let removals: KnownRemovals

  private var keys: RedisKeys { link.keys }

  func record(for key: RecordKey) throws(StoreError) -> StoredRecord? {
    try record(key, try link.evaluate(RedisScript.read, keys: [keys.record(key)]))
  }

  func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int
  ) throws(StoreError) -> RecordPage {
    let numbers = [position, Int64(clamping: count), Int64(RecordPage.maxBytes)].map { Array(String($0).utf8) }
    var rows =
      try link.evaluate(
        RedisScript.list, keys: [keys.recordSet(of: uid, collection), keys.order(uid, collection), keys.sequence],
        [keys.records(collection)] + numbers
      ).array ?? []
    var page = RecordPage(entries: [], next: rows.popLast()?.number)
    for row in rows {
      guard let parts = row.array, parts.count == 3, let position = parts[1].number,
        let id = parts[0].bytes.flatMap({ Self.identifier($0) })
      else { throw StoreError(.corrupted, "the list of a uid's records was altered") }
      if let record = try record(RecordKey(collection: collection, id: id), parts[2]) {
        page.entries.append(RecordPage.Entry(record: record, position: position))
      }
    }
    return page
  }

  /// By a scan in pieces, which finds every record that exists from its start to its end, and blocks no other client of
  /// the server for long.
  func owners(in collection: RecordKey.Collection) throws(StoreError) -> Set<UInt32> {
    var owners: Set<UInt32> = []
    var cursor = Array("0".utf8)
    repeat {
      let reply = try link.evaluate(RedisScript.owners, keys: [keys.all(collection)], [cursor]).array ?? []
      guard let next = reply.first?.bytes else { throw StoreError(.corrupted, "the list of records was altered") }
      owners.formUnion(reply.dropFirst().compactMap { $0.number.flatMap(UInt32.init(exactly:)) })
      cursor = next
    } while cursor != Array("0".utf8)
    return owners
  }

  func insert(_ record: StoredRecord, within allowance: RecordAllowance) throws(StoreError) {
    let conflict = StoreError(.conflict, "\(record.key) exists")
    guard record.version == 1 else { throw conflict }
    let count = allowance.count == .max ? [] : Array(String(allowance.count).utf8)
    let written = try written(record)
    let status = try write(record, within: allowance) { ceiling throws(StoreError) in
      try link.evaluate(
        RedisScript.insert, keys: writtenKeys(record, allowance),
        written + [ceiling, count, prefix(allowance), spared(allowance)]
      ).integer
    }
    if status == -3 { throw .tooManyRecords }
    if status <= 0 { throw conflict }
  }

  /// Writes by a script with that ceiling of bytes, and returns its status.
  private func write(
    _ record: StoredRecord, within allowance: RecordAllowance, _ script: ([UInt8]) throws(StoreError) -> Int64?
  ) throws(StoreError) -> Int64 {
    var status = try script(try ceiling(of: record.uid, allowance)) ?? 0
    if status == -2, allowance.replaceable != nil {
      // Other sidecars may have removed more than is known here.
      removals.forget(record.uid)
      status = try script(try ceiling(of: record.uid, allowance)) ?? 0
    }
    if status == -2 { throw .tooManyBytes }
    if status > 1 { removals.add(Int(status) - 1, of: record.uid) }
    return status
  }

  func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) throws(StoreError) {
    if let lease, lease.key != record.key {
      throw StoreError(.leaseLost, "\(record.key): the lease is one of \(lease.key)")
    }
    let fence = lease.map { Array(String($0.fence).utf8) } ?? []
    let written = try written(record)
    let version = Array(String(record.version - 1).utf8)
    let status = try write(record, within: allowance) { ceiling throws(StoreError) in
      try link.evaluate(
        RedisScript.replace, keys: writtenKeys(record, allowance),
        written + [ceiling, version, fence, prefix(allowance), spared(allowance)]
      ).integer
    }
    if status == -1 { throw StoreError(.leaseLost, "\(record.key): another process has the lease") }
    if status <= 0 { throw StoreError(.conflict, "\(record.key) has changed") }
  }

  func take(_ key: RecordKey) throws(StoreError) -> StoredRecord? { try record(key, try removed(key)) }

  /// Removes the record without reading it, since a damaged one can be removed as well.
  func remove(_ key: RecordKey) throws(StoreError) -> Bool {
    try removed(key).array?.first.map { $0 != .none } ?? false
  }

  /// By the server's clock from now on, so that clocks that differ do not matter; for longer than needed, so that one
  /// of a sidecar that is behind does not either.
  func spend(_ identity: [UInt8], for life: Duration) throws(StoreError) -> Bool {
    let milliseconds = min(max(1, (max(.zero, life) + Self.grace).wholeMilliseconds), Self.latest)
    let token = SecureRandom.bytes(Self.tokenByteCount)
    return try link.evaluate(
      RedisScript.spend, keys: [keys.spent(identity)], [token, Array(String(milliseconds).utf8)]
    ).integer == 1
  }

  func lease(_ key: RecordKey, for duration: Duration) throws(StoreError) -> RecordLease? {
    let token = SecureRandom.bytes(Self.tokenByteCount)
    let milliseconds = min(max(1, duration.wholeMilliseconds), Self.latest)
    let fence = try link.evaluate(
      RedisScript.lease, keys: [keys.record(key), keys.lease(key)], [token, Array(String(milliseconds).utf8)]
    ).integer
    guard let fence, let number = UInt64(exactly: fence) else { return nil }
    return RecordLease(key: key, fence: number, token: token)
  }

  func release(_ lease: RecordLease) throws(StoreError) {
    _ = try link.evaluate(RedisScript.release, keys: [keys.lease(lease.key)], [lease.token])
  }

  func count(in collection: RecordKey.Collection) throws(StoreError) -> Int {
    Int(try link.evaluate("return redis.call('ZCARD', KEYS[1])", keys: [keys.all(collection)]).integer ?? 0)
  }

  /// The server reads every record for it.
  func usage(of uid: UInt32) throws(StoreError) -> RecordUsage {
    var usage = RecordUsage()
    for collection in RecordKey.Collection.allCases {
      let sums =
        try link.evaluate(
          RedisScript.usage, keys: [keys.recordSet(of: uid, collection)], [keys.records(collection)]
        ).array ?? []
      guard sums.count == 2 else { continue }
      usage.add(Int(sums[0].integer ?? 0), in: collection, bytes: Int(sums[1].integer ?? 0))
    }
    return usage
  }

  /// Returns the number of bytes that may have been written for `uid` in total after this call; nil for any number.
  private func ceiling(of uid: UInt32, _ allowance: RecordAllowance) throws(StoreError) -> [UInt8] {
    guard allowance.bytes != .max else { return [] }
    let (ceiling, isBeyondAll) = allowance.bytes.addingReportingOverflow(try removed(of: uid))
    return isBeyondAll ? [] : Array(String(ceiling).utf8)
  }

  private func removed(of uid: UInt32) throws(StoreError) -> Int {
    if let known = removals.bytes(of: uid) { return known }
    // Read before the records are counted: writes in between are in the count, and not taken for free capacity.
    let written = try link.evaluate("return redis.call('GET', KEYS[1]) or '0'", keys: [keys.written(uid)]).number ?? 0
    let removed = Int(written) - (try usage(of: uid).bytes)
    removals.note(removed, of: uid)
    return removed
  }

  func purge(expiredAt now: Timestamp) throws(StoreError) -> Int {
    var purged: Int64 = 0
    for collection in RecordKey.Collection.allCases {
      let arguments = [
        Array(String(now.millisecondsSinceEpoch).utf8), Array(String(Self.purgeLimit).utf8),
        keys.records(collection), keys.recordSets(collection), keys.orders(collection),
      ]
      purged += try link.evaluate(RedisScript.purge, keys: [keys.all(collection)], arguments).integer ?? 0
    }
    if purged > 0 { removals.forgetAll() }
    return Int(purged)
  }

  /// Never retried: the answer may be the only copy, and a second one would report that there is none.
  private func removed(_ key: RecordKey) throws(StoreError) -> RedisReply {
    let reply = try link.evaluate(
      RedisScript.take, keys: [keys.record(key), keys.all(key.collection)],
      [keys.recordSets(key.collection), keys.identifier(key), keys.orders(key.collection)], isRepeatable: false)
    if let fields = reply.array, fields.count == 6, let uid = fields[0].number.flatMap(UInt32.init(exactly:)) {
      removals.add(fields[5].bytes?.count ?? 0, of: uid)
    }
    return reply
  }

  private func writtenKeys(_ record: StoredRecord, _ allowance: RecordAllowance) -> [[UInt8]] {
    let collection = record.key.collection
    let replaceable = allowance.replaceable ?? collection
    return [
      keys.record(record.key), keys.all(collection), keys.recordSet(of: record.uid, collection),
      keys.order(record.uid, collection), keys.sequence, keys.written(record.uid), keys.all(replaceable),
      keys.recordSet(of: record.uid, replaceable), keys.order(record.uid, replaceable),
    ]
  }

  /// The prefix of the keys of the records that may be replaced; empty for none.
  private func prefix(_ allowance: RecordAllowance) -> [UInt8] { allowance.replaceable.map(keys.records) ?? [] }

  /// The key of the record that is not replaced; empty for none.
  private func spared(_ allowance: RecordAllowance) -> [UInt8] { allowance.spared.map(keys.record) ?? [] }

  /// The arguments of `RedisScript.write`.
  private func written(_ record: StoredRecord) throws(StoreError) -> [[UInt8]] {
    let (sealed, keyID) = try link.seal(record)
    let uid = String(sealed.uid)
    let expiry = sealed.expiresAt?.millisecondsSinceEpoch
    let timeToLive = sealed.expiresAt.map { min(max(0, ($0 + Self.grace).millisecondsSinceEpoch), Self.latest) }
    let text = { (value: String) in Array(value.utf8) }
    return [
      text(uid), text(String(sealed.version)), text(expiry.map { String($0) } ?? ""), keyID, sealed.seal,
      sealed.ciphertext, text(timeToLive.map { String($0) } ?? ""), text(expiry.map { String($0) } ?? "+inf"),
      text("\(uid):") + keys.identifier(sealed.key), keys.identifier(sealed.key),
    ]
  }

  private func record(_ key: RecordKey, _ reply: RedisReply) throws(StoreError) -> StoredRecord? {
    guard let fields = reply.array, fields.count == 6 else { throw Self.damage(key) }
    if fields.allSatisfy({ $0 == .none }) { return nil }
    guard let uid = fields[0].number.flatMap(UInt32.init(exactly:)),
      let version = fields[1].number.flatMap(UInt64.init(exactly:)), let expiry = fields[2].bytes,
      expiry.isEmpty || fields[2].number != nil, let keyID = fields[3].bytes, let seal = fields[4].bytes,
      let contents = fields[5].bytes
    else { throw Self.damage(key) }
    let sealed = SealedRecord(
      key: key, uid: uid, version: version,
      expiresAt: fields[2].number.map(Timestamp.init(millisecondsSinceEpoch:)), seal: seal, ciphertext: contents)
    return try link.open(sealed, keyID: keyID)
  }

  private static func identifier(_ digits: [UInt8]) -> [UInt8]? {
    digits.count == 2 * RecordKey.identifierByteCount ? Hexadecimal.decode(digits) : nil
  }

  private static func damage(_ key: RecordKey) -> StoreError {
    StoreError(.corrupted, "\(key) is damaged or was altered")
  }
}
