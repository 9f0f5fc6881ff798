import AuthEngine
import Support

/// The records in an open database: what the store's calls do, each inside a transaction that somebody else ends.
struct RecordTable {
  private static let columns = "collection, id, owner, version, expires, seal, contents"
  private static let purgeLimit = 1000

  private let database: SQLiteDatabase
  private let cipher: RecordCipher
  /// As of the last statement; written into the database by `saveManifest`.
  private(set) var manifest: RecordManifest

  init(database: SQLiteDatabase, cipher: RecordCipher, manifest: RecordManifest) {
    self.database = database
    self.cipher = cipher
    self.manifest = manifest
  }

  func record(for key: RecordKey) throws(StoreError) -> StoredRecord? {
    guard let sealed = try sealed(key) else { return nil }
    return try cipher.open(sealed)
  }

  func records(in collection: RecordKey.Collection, ownedBy owner: UInt32) throws(StoreError) -> [StoredRecord] {
    var records: [StoredRecord] = []
    try database.each(
      "SELECT \(Self.columns) FROM record WHERE collection = ?1 AND owner = ?2",
      .integer(Int64(collection.number)), .integer(Int64(owner))
    ) { row throws(StoreError) in records.append(try cipher.open(try Self.sealed(row))) }
    return records
  }

  func count(in collection: RecordKey.Collection) throws(StoreError) -> Int {
    try database.first(
      "SELECT count(*) FROM record WHERE collection = ?1", .integer(Int64(collection.number))
    ) { row throws(StoreError) in Int(row.integer(0) ?? 0) } ?? 0
  }

  func count(in collection: RecordKey.Collection, ownedBy owner: UInt32) throws(StoreError) -> Int {
    try database.first(
      "SELECT count(*) FROM record WHERE collection = ?1 AND owner = ?2", .integer(Int64(collection.number)),
      .integer(Int64(owner))
    ) { row throws(StoreError) in Int(row.integer(0) ?? 0) } ?? 0
  }

  mutating func insert(_ record: StoredRecord) throws(StoreError) {
    guard record.version == 1, try sealed(record.key) == nil else {
      throw StoreError(.conflict, "\(record.key) exists")
    }
    let sealed = try cipher.seal(record)
    try database.run(
      "INSERT INTO record(\(Self.columns)) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      .integer(Int64(sealed.key.collection.number)), .blob(sealed.key.id), .integer(Int64(sealed.owner)),
      .integer(Int64(clamping: sealed.version)), Self.expiry(sealed), .blob(sealed.seal), .blob(sealed.ciphertext))
    manifest.add(fingerprint(sealed))
  }

  mutating func replace(_ record: StoredRecord) throws(StoreError) {
    guard let stored = try sealed(record.key), stored.version == record.version &- 1, stored.owner == record.owner
    else { throw StoreError(.conflict, "\(record.key) has changed") }
    // What was altered must not become sound again by being written over.
    _ = try cipher.open(stored)
    try overwrite(stored, with: try cipher.seal(record))
    manifest.remove(fingerprint(stored))
  }

  mutating func take(_ key: RecordKey) throws(StoreError) -> StoredRecord? {
    guard let sealed = try sealed(key) else { return nil }
    let record = try cipher.open(sealed)
    try delete(key, version: sealed.version, seal: sealed.seal)
    return record
  }

  /// Removes the record unseen, for one that is damaged can be removed as well.
  mutating func remove(_ key: RecordKey) throws(StoreError) -> Bool {
    guard let sealed = try sealed(key) else { return false }
    try delete(key, version: sealed.version, seal: sealed.seal)
    return true
  }

  mutating func purge(expiredAt now: Timestamp) throws(StoreError) -> Int {
    var expired: [(key: RecordKey, version: UInt64, seal: [UInt8])] = []
    try database.each(
      "SELECT collection, id, version, seal FROM record WHERE expires < ?1 LIMIT \(Self.purgeLimit)",
      .integer(now.millisecondsSinceEpoch)
    ) { row throws(StoreError) in
      expired.append((try Self.key(row), UInt64(clamping: row.integer(2) ?? 0), row.blob(3)))
    }
    for record in expired { try delete(record.key, version: record.version, seal: record.seal) }
    return expired.count
  }

  /// The manifest of what is there.
  func computeManifest() throws(StoreError) -> RecordManifest {
    var manifest = RecordManifest()
    try database.each("SELECT collection, id, version, seal FROM record") { row throws(StoreError) in
      let version = UInt64(clamping: row.integer(2) ?? 0)
      manifest.add(cipher.fingerprint(of: try Self.key(row), version: version, seal: row.blob(3)))
    }
    return manifest
  }

  /// Goes back to an earlier manifest, as the database went back to the records of then.
  mutating func restore(_ earlier: RecordManifest) { manifest = earlier }

  /// Encrypts every record anew.
  mutating func reencrypt(by next: RecordCipher) throws(StoreError) {
    var rows: [Int64] = []
    try database.each("SELECT rowid FROM record") { row throws(StoreError) in
      if let identifier = row.integer(0) { rows.append(identifier) }
    }
    var renewed = RecordTable(database: database, cipher: next, manifest: RecordManifest())
    for identifier in rows {
      let stored = try database.first(
        "SELECT \(Self.columns) FROM record WHERE rowid = ?1", .integer(identifier)
      ) { row throws(StoreError) in try Self.sealed(row) }
      guard let stored else { continue }
      try renewed.overwrite(stored, with: try next.seal(try cipher.open(stored)))
    }
    // `overwrite` adds what is written.
    self = renewed
  }

  private mutating func overwrite(_ stored: SealedRecord, with sealed: SealedRecord) throws(StoreError) {
    try database.run(
      "UPDATE record SET version = ?3, expires = ?4, seal = ?5, contents = ?6 WHERE collection = ?1 AND id = ?2",
      .integer(Int64(stored.key.collection.number)), .blob(stored.key.id), .integer(Int64(clamping: sealed.version)),
      Self.expiry(sealed), .blob(sealed.seal), .blob(sealed.ciphertext))
    manifest.add(fingerprint(sealed))
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
    guard let owner = row.integer(2).flatMap(UInt32.init(exactly:)),
      let version = row.integer(3).flatMap(UInt64.init(exactly:))
    else { throw StoreError(.corrupted, "\(key) is damaged or was altered") }
    return SealedRecord(
      key: key, owner: owner, version: version,
      expiresAt: row.integer(4).map(Timestamp.init(millisecondsSinceEpoch:)), seal: row.blob(5),
      ciphertext: row.blob(6))
  }

  private static func expiry(_ record: SealedRecord) -> SQLiteValue {
    record.expiresAt.map { .integer($0.millisecondsSinceEpoch) } ?? .null
  }
}
