import PosternSupport
import SessionRecords
import Testing

@testable import SessionStore

@Suite("Transactions of many users' calls")
struct GroupCommitTests {
  private let folder = TemporaryFolder()

  private func write(
    _ body: @escaping @Sendable (inout RecordTable) throws(StoreError) -> Void
  ) -> any FileCall { TypedFileCall(writes: true, reply: Reply<Result<Void, StoreError>>(), body: body) }

  private func insertion(_ number: Int, uid: UInt32, expiresAt: Timestamp = Records.farFuture) -> any FileCall {
    write { table throws(StoreError) in
      try table.insert(Records.record(number, uid: uid, expiresAt: expiresAt))
    }
  }

  @Test("a write that fails, or a purge, has everybody's records counted again; or the count is wrong afterwards")
  func usages() throws {
    let configuration = FileRecordStore.Configuration(directory: folder.store)
    let opened = try FileStoreOpening(configuration: configuration, options: FileStoreOptions()).open()
    var commit = GroupCommit(opened)
    commit.perform((1...4).map { insertion($0, uid: UInt32($0 % 2)) })
    let reading = TypedFileCall(writes: false, reply: Reply<Result<Void, StoreError>>()) { table throws(StoreError) in
      for uid in 0...1 as ClosedRange<UInt32> { _ = try table.usage(of: uid) }
    }
    commit.perform([reading])
    // One inserts what exists between two that are well; and one does something before it fails.
    let late = write { table throws(StoreError) in
      try table.insert(Records.record(7, uid: 1))
      throw StoreError(.conflict, "late")
    }
    let past = Timestamp(secondsSinceEpoch: 1000)
    commit.perform([
      insertion(5, uid: 0), insertion(1, uid: 1), late, insertion(6, uid: 1, expiresAt: past),
    ])
    #expect(commit.table.knownUsage(of: 0)?.count(in: .session) == 3)
    #expect(commit.table.knownUsage(of: 1)?.count(in: .session) == 3)
    commit.perform([
      write { table throws(StoreError) in _ = try table.purge(expiredAt: Timestamp(secondsSinceEpoch: 2000)) }
    ])
    let known = [try #require(commit.table.knownUsage(of: 0)), try #require(commit.table.knownUsage(of: 1))]
    #expect(known.map { $0.count(in: .session) } == [3, 2])
    var fresh = opened.table
    let counted = [try fresh.usage(of: 0), try fresh.usage(of: 1)]
    #expect(counted.map(\.bytes) == known.map(\.bytes))
    opened.database.close()
  }
}
