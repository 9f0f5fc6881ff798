import CPosternSQLite
import Glibc
import PosternCrypto
import SessionRecords

/// Opens, checks and where needed makes a file store.
struct FileStoreOpening {
  private enum Meta {
    static let salt = "salt"
    static let keyID = "key id"
    static let manifest = "manifest"
  }

  let configuration: FileRecordStore.Configuration
  let options: FileStoreOptions

  /// The resources of a store while it is open.
  struct Opened {
    let directory: StoreDirectory
    let database: SQLiteDatabase
    let table: RecordTable
    let cipher: RecordCipher
  }

  func open() throws(StoreError) -> Opened {
    let directory = try StoreDirectory(
      path: configuration.directory, stateDirectories: configuration.stateDirectories)
    let exists = try directory.holds(FileFormat.name)
    let keys = try self.keys(in: directory, isNew: !exists)
    // Messages about these two are about files that SQLite would take as they are.
    let hasLog = try directory.holds(FileFormat.logName)
    if exists {
      try FileFormat.checkHeader(in: directory)
    } else {
      if hasLog {
        let path = directory.path(of: FileFormat.name)
        throw FileFormat.damage(path, "it is missing, but \(FileFormat.logName) is there")
      }
      try make(in: directory, key: keys.current)
    }
    let database = try connect(to: FileFormat.name, in: directory)
    do throws(StoreError) {
      let (table, cipher) = try verify(database, path: directory.path(of: FileFormat.name), keys: keys)
      try database.set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
      return Opened(directory: directory, database: database, table: table, cipher: cipher)
    } catch {
      database.close()
      throw error
    }
  }

  /// Writes the manifest of `table`, as part of the transaction that changed it.
  static func save(
    _ manifest: RecordManifest, in database: SQLiteDatabase, cipher: RecordCipher
  ) throws(StoreError) {
    try database.run(
      "UPDATE meta SET value = ?2 WHERE name = ?1", .text(Meta.manifest), .blob(try manifest.stored(by: cipher)))
  }

  // MARK: - Keys

  private struct Keys {
    let current: StoreKey
    let previous: [StoreKey]
  }

  /// The key that was generated here counts as a previous one when another is configured now.
  private func keys(in directory: StoreDirectory, isNew: Bool) throws(StoreError) -> Keys {
    if let key = configuration.key {
      // An unreadable key does not matter unless the store was written with it.
      let keyInDirectory = (try? KeyFile.read(in: directory)) ?? nil
      return Keys(current: key, previous: configuration.previousKeys + [keyInDirectory].compactMap(\.self))
    }
    if let keyInDirectory = try KeyFile.read(in: directory) {
      return Keys(current: keyInDirectory, previous: configuration.previousKeys)
    }
    guard isNew else {
      throw StoreError(
        .keyMismatch,
        "\(directory.path) has a store but no \(KeyFile.name), and no key is configured: give it back its key")
    }
    return Keys(current: try KeyFile.make(in: directory), previous: configuration.previousKeys)
  }

  // MARK: - Files

  /// Makes an empty store under another name first: a file that has the right name is whole.
  private func make(in directory: StoreDirectory, key: StoreKey) throws(StoreError) {
    for suffix in ["", "-wal", "-journal"] { try directory.remove(FileFormat.unfinished + suffix) }
    // SQLite gives its other files the mode of this one.
    _ = try directory.open(FileFormat.unfinished, O_RDWR | O_CREAT | O_EXCL)
    let database = try connect(to: FileFormat.unfinished, in: directory)
    do throws(StoreError) {
      try fill(database, key: key)
      try database.set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
      try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    } catch {
      database.close()
      throw error
    }
    database.close()
    try directory.publish(FileFormat.unfinished, as: FileFormat.name)
  }

  private func fill(_ database: SQLiteDatabase, key: StoreKey) throws(StoreError) {
    let salt = SecureRandom.bytes(RecordCipher.saltByteCount)
    let cipher = try RecordCipher(key: key, salt: salt)
    let values = [
      (Meta.salt, salt), (Meta.keyID, cipher.keyID), (Meta.manifest, try RecordManifest().stored(by: cipher)),
    ]
    try database.run("BEGIN IMMEDIATE")
    for statement in FileFormat.schema { try database.run(statement) }
    try database.run("PRAGMA application_id = \(FileFormat.applicationID)")
    try database.run("PRAGMA user_version = \(FileFormat.version)")
    for (name, value) in values {
      try database.run("INSERT INTO meta(name, value) VALUES(?1, ?2)", .text(name), .blob(value))
    }
    try database.run("COMMIT")
  }

  /// Until the database is known to be intact nothing is written back, whatever happens.
  private func connect(to name: String, in directory: StoreDirectory) throws(StoreError) -> SQLiteDatabase {
    let path = directory.path(of: name)
    let database = try SQLiteDatabase(
      path: path, name: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, vfs: options.vfs)
    do throws(StoreError) {
      try database.set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
      try database.set(SQLITE_DBCONFIG_DEFENSIVE, true)
      for option in [
        SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
        SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_DQS_DDL,
      ] {
        try database.set(option, false)
      }
      for pragma in [
        "locking_mode = EXCLUSIVE", "cell_size_check = ON", "mmap_size = 0", "temp_store = MEMORY",
        "cache_size = -2048", "page_size = 8192", "auto_vacuum = NONE", "journal_mode = WAL",
        "synchronous = \(options.synchronous)", "secure_delete = ON", "journal_size_limit = 16777216",
      ] {
        try database.run("PRAGMA \(pragma)")
      }
      if let limit = options.maximumPageCount { try database.run("PRAGMA max_page_count = \(limit)") }
    } catch {
      database.close()
      throw error
    }
    return database
  }

  // MARK: - Contents

  private func verify(
    _ database: SQLiteDatabase, path: String, keys: Keys
  ) throws(StoreError) -> (RecordTable, RecordCipher) {
    try FileFormat.checkIntegrity(of: database, path: path)
    try FileFormat.checkSchema(of: database, path: path)
    let salt = try value(Meta.salt, in: database)
    let keyID = try value(Meta.keyID, in: database)
    guard salt.count == RecordCipher.saltByteCount else { throw FileFormat.damage(path, "its salt was altered") }
    let current = try RecordCipher(key: keys.current, salt: salt)
    var used: RecordCipher?
    for key in [keys.current] + keys.previous where used == nil {
      let cipher = try RecordCipher(key: key, salt: salt)
      if cipher.keyID == keyID { used = cipher }
    }
    guard let used else { throw StoreError(.keyMismatch, "\(path) was written with another key than the one given") }
    guard let manifest = RecordManifest(try value(Meta.manifest, in: database), cipher: used) else {
      throw FileFormat.damage(path, "the list of what it holds was altered")
    }
    var table = RecordTable(database: database, cipher: used, manifest: manifest)
    guard try table.computeManifest() == manifest else {
      throw FileFormat.damage(path, "it does not hold the records that were written last")
    }
    if current.keyID != keyID { try rotate(&table, in: database, to: current) }
    return (table, current)
  }

  /// All records under the current key, or none.
  private func rotate(
    _ table: inout RecordTable, in database: SQLiteDatabase, to current: RecordCipher
  ) throws(StoreError) {
    try database.run("BEGIN IMMEDIATE")
    do throws(StoreError) {
      try table.reencrypt(by: current)
      try database.run("UPDATE meta SET value = ?2 WHERE name = ?1", .text(Meta.keyID), .blob(current.keyID))
      try Self.save(table.manifest, in: database, cipher: current)
      try database.run("COMMIT")
    } catch {
      if !database.isOutsideTransaction { try? database.run("ROLLBACK") }
      throw error
    }
    // Records under the old key must not remain in the log.
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  private func value(_ name: String, in database: SQLiteDatabase) throws(StoreError) -> [UInt8] {
    try database.first("SELECT value FROM meta WHERE name = ?1", .text(name)) { row throws(StoreError) in row.blob(0) }
      ?? []
  }
}

/// Options of a file store for tests.
struct FileStoreOptions: Sendable {
  /// The name of SQLite's virtual file system; nil for the usual one.
  var vfs: String?
  /// `FULL`: a transaction is on disk when it has ended.
  var synchronous = "FULL"
  /// The most pages the file may have; nil for as many as the disk holds.
  var maximumPageCount: Int?
}
