import CPosternSQLite
import Foundation
import Glibc
import PosternTestSupport
import SessionRecords
import Testing

@testable import SessionStore

@Suite("Files that were changed by hand")
struct TamperTests {
  private let folder = TemporaryFolder()
  private let key = StoreKey.random()

  private func open() async throws -> FileRecordStore {
    try await FileRecordStore.open(.init(directory: folder.store, key: key))
  }

  /// A closed store with records 0 to `count`, each of version 2.
  private func make(_ count: Int = 3, size: Int = 300) async throws {
    let store = try await open()
    for number in 0..<count {
      try await store.insert(Records.record(number, uid: UInt32(number), size: size))
      try await store.replace(Records.record(number, uid: UInt32(number), version: 2, size: size), under: nil)
    }
    await store.close()
  }

  /// Runs SQL on the closed file, as a person with an editor would.
  private func edit(_ sql: String) throws {
    var database: OpaquePointer?
    defer { sqlite3_close_v2(database) }
    try #require(sqlite3_open_v2(folder.file("sessions.db"), &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
    try #require(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK, "\(sql)")
  }

  @Test(
    "a change that encryption or the manifest should show is not seen",
    arguments: [
      // Columns of the row.
      "UPDATE record SET owner = 77 WHERE rowid = 1", "UPDATE record SET version = 3 WHERE rowid = 1",
      "UPDATE record SET expires = NULL WHERE rowid = 1", "UPDATE record SET expires = expires + 1 WHERE rowid = 1",
      "UPDATE record SET collection = 2 WHERE rowid = 1", "UPDATE record SET collection = 9 WHERE rowid = 1",
      "UPDATE record SET id = zeroblob(32) WHERE rowid = 1", "UPDATE record SET id = x'00' WHERE rowid = 1",
      "UPDATE record SET contents = zeroblob(length(contents)) WHERE rowid = 1",
      "UPDATE record SET contents = substr(contents, 2) WHERE rowid = 1",
      "UPDATE record SET contents = x'' WHERE rowid = 1", "UPDATE record SET owner = -1 WHERE rowid = 1",
      "UPDATE record SET version = -1 WHERE rowid = 1", "UPDATE record SET version = 0 WHERE rowid = 1",
      "UPDATE record SET seal = x'' WHERE rowid = 1", "UPDATE record SET seal = zeroblob(28) WHERE rowid = 1",
      "UPDATE record SET seal = CAST(seal || x'00' AS BLOB) WHERE rowid = 1",
      // Rows.
      "DELETE FROM record WHERE rowid = 1", "DELETE FROM record",
      "UPDATE record SET (seal, contents) = (SELECT seal, contents FROM record WHERE rowid = 2) WHERE rowid = 1",
      """
      INSERT INTO record(collection, id, owner, version, expires, seal, contents)
      SELECT 2, id, owner, version, expires, seal, contents FROM record WHERE rowid = 1
      """,
      "UPDATE record SET id = CASE rowid WHEN 1 THEN zeroblob(32) ELSE id END",
      // What belongs to the store.
      "UPDATE meta SET value = zeroblob(32) WHERE name = 'salt'", "UPDATE meta SET value = x'' WHERE name = 'salt'",
      "UPDATE meta SET value = zeroblob(16) WHERE name = 'key id'", "DELETE FROM meta WHERE name = 'manifest'",
      "UPDATE meta SET value = zeroblob(length(value)) WHERE name = 'manifest'", "DELETE FROM meta",
      "DROP TABLE meta", "DROP TABLE record", "DROP INDEX record_owner", "CREATE TABLE other(a)",
      "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END",
    ])
  func edits(_ sql: String) async throws {
    try await make()
    try edit(sql)
    await expectRejection(of: Set((0..<3).map { Records.key($0) }))
  }

  @Test("two swapped rows, or one that was reset to an earlier version, are passed on")
  func replays() async throws {
    let store = try await open()
    for number in 0..<2 { try await store.insert(Records.record(number)) }
    await store.close()
    // The row as it was, to be put back.
    try edit("CREATE TABLE saved AS SELECT * FROM record WHERE rowid = 1; ")
    let saved = try saveRow()
    try edit("DROP TABLE saved")
    let again = try await open()
    try await again.replace(Records.record(0, version: 2), under: nil)
    _ = try await again.take(Records.key(1))
    await again.close()
    let sound = try folder.bytes(of: "sessions.db")
    try edit("DELETE FROM record WHERE rowid = 1; \(saved)")
    await expect(.corrupted) { _ = try await open() }
    try folder.overwrite("sessions.db", with: sound)
    await (try await open()).close()
    try await make2()
    try edit(
      """
      UPDATE record SET id = CAST(id || x'00' AS BLOB) WHERE rowid = 1;
      UPDATE record SET id = (SELECT substr(id, 1, 32) FROM record WHERE rowid = 1) WHERE rowid = 3;
      """)
    await expect(.corrupted) { _ = try await open() }
  }

  private func make2() async throws {
    let store = try await open()
    for number in 5..<8 { try await store.insert(Records.record(number)) }
    await store.close()
  }

  /// The statement that brings the saved row back.
  private func saveRow() throws -> String {
    var database: OpaquePointer?
    var statement: OpaquePointer?
    defer {
      sqlite3_finalize(statement)
      sqlite3_close_v2(database)
    }
    try #require(sqlite3_open_v2(folder.file("sessions.db"), &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
    let sql = """
      SELECT format('INSERT INTO record VALUES(%d, x''%s'', %d, %d, %d, x''%s'', x''%s'')',
        collection, hex(id), owner, version, expires, hex(seal), hex(contents)) FROM saved
      """
    try #require(sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK)
    try #require(sqlite3_step(statement) == SQLITE_ROW)
    return String(cString: try #require(sqlite3_column_text(statement, 0)))
  }

  @Test("a byte that was flipped anywhere in the file gives a wrong record, a crash, or an empty store")
  func flips() async throws {
    try await make(12, size: 900)
    let sound = try folder.bytes(of: "sessions.db")
    let expected = Set((0..<12).map { Records.key($0) })
    // Every byte of the two pages that matter most would take minutes: a step that meets every offset of a row.
    for offset in stride(from: 0, to: sound.count, by: Thoroughness.isFull ? 61 : 307) {
      var bytes = sound
      bytes[offset] ^= UInt8(1 << (offset % 8))
      try folder.overwrite("sessions.db", with: bytes)
      await expectRejection(of: expected, size: 900, count: 12, allowSound: true, position: offset)
    }
  }

  @Test(
    "a file that was cut off or overwritten is taken for an empty store, or is changed",
    arguments: [0, 1, 99, 100, 512, 4095, 4096, 8192, 12_288])
  func truncated(_ length: Int) async throws {
    try await make(20, size: 1000)
    let sound = try folder.bytes(of: "sessions.db")
    try #require(sound.count > length)
    try folder.overwrite("sessions.db", with: Array(sound[..<length]))
    await expect(.corrupted) { _ = try await open() }
    #expect(try folder.bytes(of: "sessions.db") == Array(sound[..<length]))
    try folder.overwrite(
      "sessions.db", with: Array(sound[..<length]) + [UInt8](repeating: 0, count: sound.count - length))
    await expect(.corrupted) { _ = try await open() }
    try folder.overwrite("sessions.db", with: (0..<sound.count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    await expect(.corrupted) { _ = try await open() }
    try folder.overwrite("sessions.db", with: sound)
    await (try await open()).close()
  }

  @Test("a database that is missing next to its log is made again")
  func missing() async throws {
    try await make()
    rename(folder.file("sessions.db"), folder.file("sessions.db-wal"))
    await expect(.corrupted) { _ = try await open() }
  }

  @Test("a newer format, or a database of another program, is opened or damaged")
  func formats() async throws {
    try await make()
    try edit("PRAGMA user_version = 2")
    let newer = try folder.bytes(of: "sessions.db")
    await expect(.unusable) { _ = try await open() }
    #expect(try folder.bytes(of: "sessions.db") == newer)
    try edit("PRAGMA user_version = 1; PRAGMA application_id = 17")
    await expect(.unusable) { _ = try await open() }
  }

  /// Expects that the store does not open, or answers with errors or with what was written, and never with anything
  /// else or with nothing.
  private func expectRejection(
    of keys: Set<RecordKey>, size: Int = 300, count: Int = 3, allowSound: Bool = false, position: Int = -1
  ) async {
    do {
      let store = try await open()
      var isSound = true
      for number in 0..<count {
        let expected = Records.record(number, uid: UInt32(number), version: 2, size: size)
        do throws(StoreError) {
          let found = try await store.record(for: Records.key(number))
          #expect(found == expected, "byte \(position)")
        } catch {
          isSound = false
          #expect(error.kind == .corrupted, "byte \(position): \(error)")
        }
      }
      #expect(allowSound || !isSound)
      await store.close()
    } catch let error as StoreError {
      #expect([.corrupted, .keyMismatch, .unusable].contains(error.kind), "byte \(position): \(error)")
    } catch {
      Issue.record("\(error)")
    }
  }
}
