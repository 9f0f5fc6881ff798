import PosternSupport
import SessionRecords

/// The records in an open database: the work of the store's calls, each inside a transaction that its caller ends.
struct RecordTable {
  private static let columns = "collection, id, owner, version, expires, seal, contents"
  private static let purgeLimit = 1000
  /// How many records are read at a time to be replaced.
  private static let replacementPage = 8

  /// A savepoint, to which `restore` returns.
  struct Moment {
    let manifest: RecordManifest
    fileprivate let changeCount: Int
  }

  private let database: SQLiteDatabase
  private let cipher: RecordCipher
  /// The manifest as of the last statement; `saveManifest` writes it into the database.
  private(set) var manifest: RecordManifest
  /// The known usages of uids, as of the last statement.
  private var usages = UserUsages()

  init(database: SQLiteDatabase, cipher: RecordCipher, manifest: RecordManifest) {
    self.database = database
    self.cipher = cipher
    self.manifest = manifest
  }

  func record(for key: RecordKey) throws(StoreError) -> StoredRecord? {
    guard let sealed = try sealed(key) else { return nil }
    return try cipher.open(sealed)
  }

  /// A record's position is its rowid, which SQLite gives in the order of insertion and no update changes.
  func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int
  ) throws(StoreError) -> RecordPage {
    let values = [SQLiteValue.integer(Int64(collection.number)), .integer(Int64(uid)), .integer(position)]
    let condition = "FROM record WHERE collection = ?1 AND owner = ?2 AND rowid > ?3 ORDER BY rowid LIMIT ?4"
    var (found, fitting, bytes) = (0, 0, 0)
    // Their size is known without reading them.
    try database.each(
      "SELECT length(contents) \(condition)", values[0], values[1], values[2], .integer(Int64(clamping: count))
    ) { row throws(StoreError) in
      found += 1
      guard bytes < RecordPage.maxBytes else { return }
      fitting += 1
      bytes += Int(row.integer(0) ?? 0)
    }
    var page = RecordPage(entries: [], next: nil)
    try database.each(
      "SELECT \(Self.columns), rowid \(condition)", values[0], values[1], values[2], .integer(Int64(clamping: fitting))
    ) { row throws(StoreError) in
      let record = try cipher.open(try Self.sealed(row))
      page.entries.append(RecordPage.Entry(record: record, position: row.integer(7) ?? 0))
    }
    page.next = found < count && fitting == found ? nil : page.entries.last?.position
    return page
  }

  /// One search of the index for each uid, whatever the number of its records.
  func owners(in collection: RecordKey.Collection) throws(StoreError) -> Set<UInt32> {
    var owners: Set<UInt32> = []
    var last: Int64 = -1
    while let next = try database.first(
      "SELECT min(owner) FROM record WHERE collection = ?1 AND owner > ?2", .integer(Int64(collection.number)),
      .integer(last), read: { row throws(StoreError) in row.integer(0) }) ?? nil
    {
      guard let uid = UInt32(exactly: next) else { throw StoreError(.corrupted, "a record of an impossible uid") }
      owners.insert(uid)
      last = next
    }
    return owners
  }

  func count(in collection: RecordKey.Collection) throws(StoreError) -> Int {
    try database.first(
      "SELECT count(*) FROM record WHERE collection = ?1", .integer(Int64(collection.number))
    ) { row throws(StoreError) in Int(row.integer(0) ?? 0) } ?? 0
  }

  /// Returns the known usage of `uid`, without counting.
  func knownUsage(of uid: UInt32) -> RecordUsage? { usages.usage(of: uid) }

  /// Counts a usage once; every write updates it. Outside of transactions.
  mutating func usage(of uid: UInt32) throws(StoreError) -> RecordUsage {
    if let known = knownUsage(of: uid) { return known }
    let usage = try summedUsage(of: uid)
    usages.note(usage, of: uid)
    return usage
  }

  /// Returns the usage of `uid`, with the changes of the transaction so far.
  private func currentUsage(of uid: UInt32) throws(StoreError) -> RecordUsage {
    if let known = knownUsage(of: uid) { return known }
    return try summedUsage(of: uid)
  }

  private func summedUsage(of uid: UInt32) throws(StoreError) -> RecordUsage {
    var usage = RecordUsage()
    for collection in RecordKey.Collection.allCases {
      try database.each(
        "SELECT count(*), total(length(contents)) FROM record WHERE collection = ?1 AND owner = ?2",
        .integer(Int64(collection.number)), .integer(Int64(uid))
      ) { row throws(StoreError) in
        usage.add(Int(row.integer(0) ?? 0), in: collection, bytes: Int(row.integer(1) ?? 0))
      }
    }
    return usage
  }

  /// Writes the database's own description once more, unchanged.
  func rewriteFacts() throws(StoreError) { try database.run("UPDATE meta SET value = value") }

  /// Returns how many records it replaces.
  @discardableResult
  mutating func insert(
    _ record: StoredRecord, within allowance: RecordAllowance = .unlimited
  ) throws(StoreError) -> Int {
    guard record.version == 1, try sealed(record.key) == nil else {
      throw StoreError(.conflict, "\(record.key) exists")
    }
    var replaced = 0
    if allowance != .unlimited {
      let excess = try allowance.excess(adding: record, to: try currentUsage(of: record.uid))
      replaced = try makeRoom(excess, for: record, within: allowance)
    }
    let sealed = try cipher.seal(record)
    try database.run(
      "INSERT INTO record(\(Self.columns)) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      .integer(Int64(sealed.key.collection.number)), .blob(sealed.key.id), .integer(Int64(sealed.uid)),
      .integer(Int64(clamping: sealed.version)), Self.expiry(sealed), .blob(sealed.seal), .blob(sealed.ciphertext))
    manifest.add(fingerprint(sealed))
    usages.add(1, of: sealed.uid, in: sealed.key.collection, bytes: sealed.ciphertext.count)
    return replaced
  }

  /// Returns how many other records it replaces.
  mutating func replace(_ record: StoredRecord, within allowance: RecordAllowance) throws(StoreError) -> Int {
    guard let stored = try sealed(record.key), stored.version == record.version &- 1, stored.uid == record.uid
    else { throw StoreError(.conflict, "\(record.key) has changed") }
    // An altered record must not become valid again by being overwritten.
    _ = try cipher.open(stored)
    let growth = record.contents.byteCount - stored.ciphertext.count
    var replaced = 0
    if allowance != .unlimited {
      let excess = allowance.excess(growth: growth, of: try currentUsage(of: record.uid))
      replaced = try makeRoom(excess, for: record, within: allowance)
    }
    try overwrite(stored, with: try cipher.seal(record))
    manifest.remove(fingerprint(stored))
    usages.add(0, of: record.uid, in: record.key.collection, bytes: growth)
    return replaced
  }

  /// Removes what a write of `record` replaces, from the first rowid on; returns how many. The transaction takes them
  /// back where they are not enough.
  private mutating func makeRoom(
    _ excess: RecordExcess, for record: StoredRecord, within allowance: RecordAllowance
  ) throws(StoreError) -> Int {
    var excess = excess
    var replaced = 0
    var last: Int64 = 0
    while !excess.isNone {
      guard let collection = allowance.replaceable, replaced < RecordAllowance.maxReplaced else { throw excess.error }
      let page = try oldest(in: collection, ownedBy: record.uid, after: last)
      guard let end = page.last else { throw excess.error }
      last = end.position
      for old in page where !excess.isNone && old.key != record.key && old.key != allowance.spared {
        try delete(old.key, version: old.version, seal: old.seal)
        usages.add(-1, of: record.uid, in: collection, bytes: -old.byteCount)
        excess.remove(byteCount: old.byteCount)
        replaced += 1
      }
    }
    return replaced
  }

  /// What a removal has to know of a record.
  private struct Removable {
    let key: RecordKey
    let version: UInt64
    let seal: [UInt8]
    let byteCount: Int
    let position: Int64
  }

  /// Some records in the order of their insertion, unread: a damaged one can be removed as well.
  private func oldest(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64
  ) throws(StoreError) -> [Removable] {
    var found: [Removable] = []
    try database.each(
      "SELECT collection, id, version, seal, length(contents), rowid FROM record "
        + "WHERE collection = ?1 AND owner = ?2 AND rowid > ?3 ORDER BY rowid LIMIT \(Self.replacementPage)",
      .integer(Int64(collection.number)), .integer(Int64(uid)), .integer(position)
    ) { row throws(StoreError) in
      found.append(
        Removable(
          key: try Self.key(row), version: UInt64(clamping: row.integer(2) ?? 0), seal: row.blob(3),
          byteCount: Int(row.integer(4) ?? 0), position: row.integer(5) ?? 0))
    }
    return found
  }

  mutating func take(_ key: RecordKey) throws(StoreError) -> StoredRecord? {
    guard let sealed = try sealed(key) else { return nil }
    let record = try cipher.open(sealed)
    try delete(sealed)
    return record
  }

  /// Removes the record without reading it, since a damaged one can be removed as well.
  mutating func remove(_ key: RecordKey) throws(StoreError) -> Bool {
    guard let sealed = try sealed(key) else { return false }
    try delete(sealed)
    return true
  }

  mutating func purge(expiredAt now: Timestamp) throws(StoreError) -> Int {
    var expired: [(key: RecordKey, version: UInt64, seal: [UInt8], uid: UInt32?, byteCount: Int)] = []
    try database.each(
      "SELECT collection, id, version, seal, owner, length(contents) FROM record WHERE expires < ?1 LIMIT \(Self.purgeLimit)",
      .integer(now.millisecondsSinceEpoch)
    ) { row throws(StoreError) in
      let uid = row.integer(4).flatMap(UInt32.init(exactly:))
      expired.append(
        (try Self.key(row), UInt64(clamping: row.integer(2) ?? 0), row.blob(3), uid, Int(row.integer(5) ?? 0)))
    }
    for record in expired {
      try delete(record.key, version: record.version, seal: record.seal)
      if let uid = record.uid { usages.add(-1, of: uid, in: record.key.collection, bytes: -record.byteCount) }
    }
    return expired.count
  }

  /// Returns the manifest of the existing records.
  func computeManifest() throws(StoreError) -> RecordManifest {
    var manifest = RecordManifest()
    try database.each("SELECT collection, id, version, seal FROM record") { row throws(StoreError) in
      let version = UInt64(clamping: row.integer(2) ?? 0)
      manifest.add(cipher.fingerprint(of: try Self.key(row), version: version, seal: row.blob(3)))
    }
    return manifest
  }

  /// Returns a savepoint inside a transaction.
  var moment: Moment { Moment(manifest: manifest, changeCount: usages.changeCount) }

  /// Returns to a savepoint of the transaction, as the database did.
  mutating func restore(_ earlier: Moment) {
    manifest = earlier.manifest
    usages.takeBack(to: earlier.changeCount)
  }

  /// Ends the transaction.
  mutating func keep() { usages.keep() }

  /// Encrypts every record again.
  mutating func reencrypt(by next: RecordCipher) throws(StoreError) {
    var rows: [Int64] = []
    try database.each("SELECT rowid FROM record") { row throws(StoreError) in
      if let identifier = row.integer(0) { rows.append(identifier) }
    }
    var rewritten = RecordTable(database: database, cipher: next, manifest: RecordManifest())
    for identifier in rows {
      let stored = try database.first(
        "SELECT \(Self.columns) FROM record WHERE rowid = ?1", .integer(identifier)
      ) { row throws(StoreError) in try Self.sealed(row) }
      guard let stored else { continue }
      try rewritten.overwrite(stored, with: try next.seal(try cipher.open(stored)))
    }
    // `overwrite` adds what is written.
    self = rewritten
  }

  private mutating func overwrite(_ stored: SealedRecord, with sealed: SealedRecord) throws(StoreError) {
    try database.run(
      "UPDATE record SET version = ?3, expires = ?4, seal = ?5, contents = ?6 WHERE collection = ?1 AND id = ?2",
      .integer(Int64(stored.key.collection.number)), .blob(stored.key.id), .integer(Int64(clamping: sealed.version)),
      Self.expiry(sealed), .blob(sealed.seal), .blob(sealed.ciphertext))
    manifest.add(fingerprint(sealed))
  }

  private mutating func delete(_ sealed: SealedRecord) throws(StoreError) {
    try delete(sealed.key, version: sealed.version, seal: sealed.seal)
    usages.add(-1, of: sealed.uid, in: sealed.key.collection, bytes: -sealed.ciphertext.count)
  }

  private mutating func delete(_ key: RecordKey, version: UInt64, seal: [UInt8]) throws(StoreError) {
    try database.run(
      "DELETE FROM record WHERE collection = ?1 AND id = ?2", .integer(Int64(key.collection.number)), .blob(key.id))
    manifest.remove(cipher.fingerprint(of: key, version: version, seal: seal))
  }

  private func fingerprint(_ sealed: SealedRecord) -> [UInt8] {
    cipher.fingerprint(of: sealed.key, version: sealed.version, seal: sealed.seal)
  }

  private func sealed(_ key: RecordKey) throws(StoreError) -> SealedRecord? {
    try database.first(
      "SELECT \(Self.columns) FROM record WHERE collection = ?1 AND id = ?2",
      .integer(Int64(key.collection.number)), .blob(key.id)
    ) { row throws(StoreError) in try Self.sealed(row) }
  }

  private static func key(_ row: SQLiteStatement) throws(StoreError) -> RecordKey {
    guard let collection = RecordKey.Collection(number: row.integer(0) ?? 0) else {
      throw StoreError(.corrupted, "a record of an unknown kind")
    }
    return RecordKey(collection: collection, id: row.blob(1))
  }

  private static func sealed(_ row: SQLiteStatement) throws(StoreError) -> SealedRecord {
    let key = try key(row)
    guard let uid = row.integer(2).flatMap(UInt32.init(exactly:)),
      let version = row.integer(3).flatMap(UInt64.init(exactly:))
    else { throw StoreError(.corrupted, "\(key) is damaged or was altered") }
    return SealedRecord(
      key: key, uid: uid, version: version,
      expiresAt: row.integer(4).map(Timestamp.init(millisecondsSinceEpoch:)), seal: row.blob(5),
      ciphertext: row.blob(6))
  }

  private static func expiry(_ record: SealedRecord) -> SQLiteValue {
    record.expiresAt.map { .integer($0.millisecondsSinceEpoch) } ?? .null
  }
}
