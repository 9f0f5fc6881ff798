import Glibc
import SessionRecords

/// The format of our database files: their first bytes and their schema.
enum FileFormat {
  static let name = "sessions.db"
  static let unfinished = "sessions.db.new"
  static let logName = "sessions.db-wal"
  /// `Pstn`, where file(1) and SQLite look for it.
  static let applicationID: UInt32 = 0x5073_746e
  static let version: UInt32 = 1

  static let schema = [
    """
    CREATE TABLE meta(name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE record(collection INTEGER NOT NULL, id BLOB NOT NULL, owner INTEGER NOT NULL, \
    version INTEGER NOT NULL, expires INTEGER, seal BLOB NOT NULL, contents BLOB NOT NULL) STRICT
    """,
    "CREATE INDEX record_expiry ON record(expires) WHERE expires IS NOT NULL",
    "CREATE UNIQUE INDEX record_key ON record(collection, id)",
    "CREATE INDEX record_owner ON record(collection, owner)",
  ]

  private static let magic = Array("SQLite format 3\0".utf8)
  private static let headerByteCount = 100

  /// Checks the beginning of the file, before SQLite does anything with it (section 1.3 of SQLite's file format).
  static func checkHeader(in directory: StoreDirectory) throws(StoreError) {
    let path = directory.path(of: name)
    let header = try directory.open(name, O_RDONLY).read(atMost: headerByteCount)
    guard header.count == headerByteCount, header.starts(with: magic) else {
      throw damage(path, "it is no database: truncated or overwritten")
    }
    // Both versions of the format must be "log"; otherwise opening the file would change it.
    guard header[18] == 2, header[19] == 2 else { throw damage(path, "its header was altered") }
    guard number(header, at: 68) == applicationID else {
      throw StoreError(.unusable, "\(path) is a database of another program")
    }
    guard number(header, at: 60) == version else {
      throw StoreError(
        .unusable,
        "\(path) has format \(number(header, at: 60)); this version of postern reads format \(version) and nothing else"
      )
    }
  }

  /// Compares the schema: one that was altered could make ordinary statements do other things.
  static func checkSchema(of database: SQLiteDatabase, path: String) throws(StoreError) {
    var found: Set<String> = []
    try database.each("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL") { row throws(StoreError) in
      found.insert(row.text(0))
    }
    guard found == Set(schema) else { throw damage(path, "its schema was altered") }
  }

  /// The whole schema, indexes too: a record that its index does not contain would seem to be missing.
  static func checkIntegrity(of database: SQLiteDatabase, path: String) throws(StoreError) {
    let verdict = try database.first("PRAGMA integrity_check(1)") { row throws(StoreError) in row.text(0) }
    // SQLite's own message has nothing that helps an operator.
    guard verdict == "ok" else { throw damage(path, "its structure is broken") }
  }

  static func damage(_ path: String, _ problem: String) -> StoreError {
    StoreError(
      .corrupted,
      "\(path) is damaged: \(problem). It is left as it is: restore it, or move it away to begin with an empty store")
  }

  private static func number(_ header: [UInt8], at offset: Int) -> UInt32 {
    header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
