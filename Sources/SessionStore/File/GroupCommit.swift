import SessionRecords

/// Carries out all waiting calls in one transaction: one fsync makes all of them durable.
struct GroupCommit {
  private let database: SQLiteDatabase
  private let cipher: RecordCipher
  private(set) var table: RecordTable

  init(_ opened: FileStoreOpening.Opened) {
    database = opened.database
    cipher = opened.cipher
    table = opened.table
  }

  /// Carries out the calls and answers each. Reads do not wait for the writes of others: none of these writes has been
  /// answered, so that no caller can observe which was first.
  mutating func perform(_ calls: [any FileCall]) {
    for call in calls where !call.writes {
      _ = call.run(on: &table)
      call.finish(nil)
    }
    let writes = calls.filter(\.writes)
    guard !writes.isEmpty else { return }
    let failure = transact(writes)
    if failure != nil, writes.count > 1 {
      // One call may be too much for the disk where the others are not.
      for call in writes { call.finish(transact([call])) }
    } else {
      for call in writes { call.finish(failure) }
    }
  }

  /// Runs the calls in one transaction; returns the error if it failed as a whole, and then nothing of it has happened.
  private mutating func transact(_ calls: [any FileCall]) -> StoreError? {
    let before = table.moment
    defer { table.keep() }
    do throws(StoreError) {
      try database.run("BEGIN IMMEDIATE")
      for call in calls { try runOne(call) }
      if table.manifest != before.manifest { try FileStoreOpening.save(table.manifest, in: database, cipher: cipher) }
      try database.run("COMMIT")
      return nil
    } catch {
      if !database.isOutsideTransaction { try? database.run("ROLLBACK") }
      table.restore(before)
      return error
    }
  }

  /// Runs one call; its failure undoes its own work only, unless it ended the transaction.
  private mutating func runOne(_ call: any FileCall) throws(StoreError) {
    let before = table.moment
    try database.run("SAVEPOINT call")
    if let failure = call.run(on: &table) {
      if database.isOutsideTransaction { throw failure }
      table.restore(before)
      try database.run("ROLLBACK TO call")
    }
    try database.run("RELEASE call")
  }
}
