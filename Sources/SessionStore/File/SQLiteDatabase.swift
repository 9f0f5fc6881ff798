import CPosternSQLite
import SessionRecords

/// A connection to a SQLite database, used by one thread.
final class SQLiteDatabase {
  private let handle: OpaquePointer
  private let name: String
  private var statements: [String: SQLiteStatement] = [:]

  /// Opens the file at `path`. `name` is what messages call it.
  init(path: String, name: String, flags: Int32, vfs: String?) throws(StoreError) {
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
    guard code == SQLITE_OK, let opened else {
      sqlite3_close_v2(opened)
      throw Self.error(code, name: name)
    }
    handle = opened
    self.name = name
  }

  /// Frees everything. Without it a database is never written back or deleted.
  func close() {
    statements = [:]
    sqlite3_close_v2(handle)
  }

  /// Whether no transaction is open: some errors end one.
  var isOutsideTransaction: Bool { sqlite3_get_autocommit(handle) != 0 }

  /// How many rows the last statement changed.
  var changes: Int { Int(sqlite3_changes(handle)) }

  /// Sets one of the `SQLITE_DBCONFIG_…` switches.
  func set(_ option: Int32, _ isOn: Bool) throws(StoreError) {
    try check(postern_sqlite_set(handle, option, isOn ? 1 : 0))
  }

  /// Runs a statement that gives no rows, or whose rows do not matter.
  func run(_ sql: String, _ values: SQLiteValue...) throws(StoreError) {
    _ = try rows(sql, values) { _ throws(StoreError) in }
  }

  /// Returns the result of `read` for the first row.
  func first<Value>(
    _ sql: String, _ values: SQLiteValue..., read: (SQLiteStatement) throws(StoreError) -> Value
  ) throws(StoreError) -> Value? {
    var result: Value?
    _ = try rows(sql, values) { row throws(StoreError) in
      if result == nil { result = try read(row) }
    }
    return result
  }

  /// Runs `body` for each row.
  func each(
    _ sql: String, _ values: SQLiteValue..., body: (SQLiteStatement) throws(StoreError) -> Void
  ) throws(StoreError) {
    try rows(sql, values, body)
  }

  private func rows(
    _ sql: String, _ values: [SQLiteValue], _ body: (SQLiteStatement) throws(StoreError) -> Void
  ) throws(StoreError) {
    let statement = try prepared(sql)
    defer { statement.reset() }
    try check(statement.bind(values))
    while true {
      switch statement.step() {
      case SQLITE_ROW: try body(statement)
      case SQLITE_DONE: return
      case let code: throw Self.error(code, name: name)
      }
    }
  }

  private func prepared(_ sql: String) throws(StoreError) -> SQLiteStatement {
    if let statement = statements[sql] { return statement }
    var prepared: OpaquePointer?
    try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil))
    guard let prepared else { throw StoreError(.unusable, "\(name): an empty statement") }
    let statement = SQLiteStatement(prepared)
    statements[sql] = statement
    return statement
  }

  private func check(_ code: Int32) throws(StoreError) {
    if code != SQLITE_OK { throw Self.error(code, name: name) }
  }

  /// SQLite's message for the code, which quotes no data.
  private static func error(_ code: Int32, name: String) -> StoreError {
    let message = "\(name): \(String(cString: sqlite3_errstr(code & 0xff))) (SQLite \(code))"
    return switch code & 0xff {
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_MISMATCH, SQLITE_FORMAT: StoreError(.corrupted, message)
    case SQLITE_CONSTRAINT: StoreError(.conflict, message)
    case SQLITE_BUSY, SQLITE_LOCKED: StoreError(.locked, message)
    case SQLITE_PERM, SQLITE_AUTH, SQLITE_READONLY, SQLITE_CANTOPEN: StoreError(.unusable, message)
    // The errors that a schema other than ours leads to.
    case SQLITE_ERROR: StoreError(.corrupted, message)
    default: StoreError(.unavailable, message)
    }
  }
}
