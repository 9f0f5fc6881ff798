import CPosternSQLite

/// A value for a parameter of a statement.
enum SQLiteValue {
  case null
  case integer(Int64)
  case text(String)
  case blob([UInt8])
}

/// A prepared statement, kept for the life of its database.
final class SQLiteStatement {
  private let handle: OpaquePointer

  /// Takes over the statement.
  init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { sqlite3_finalize(handle) }

  /// Binds the values to the parameters, in order.
  func bind(_ values: [SQLiteValue]) -> Int32 {
    for (offset, value) in values.enumerated() {
      let index = Int32(offset + 1)
      let code =
        switch value {
        case .null: sqlite3_bind_null(handle, index)
        case .integer(let number): sqlite3_bind_int64(handle, index, number)
        case .text(let text): postern_sqlite_bind_text(handle, index, text)
        case .blob(let bytes): postern_sqlite_bind_blob(handle, index, bytes, Int32(clamping: bytes.count))
        }
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }

  func step() -> Int32 { sqlite3_step(handle) }

  func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  /// The integer in that column; nil for NULL.
  func integer(_ column: Int32) -> Int64? {
    sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : sqlite3_column_int64(handle, column)
  }

  func text(_ column: Int32) -> String {
    guard let characters = sqlite3_column_text(handle, column) else { return "" }
    return String(cString: characters)
  }

  func blob(_ column: Int32) -> [UInt8] {
    guard let bytes = sqlite3_column_blob(handle, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
  }
}
