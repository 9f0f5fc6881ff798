import PosternSupport
import SessionRecords
import Testing

extension RecordStore {
  /// All records of `uid`, page by page.
  func records(in collection: RecordKey.Collection, ownedBy uid: UInt32) async throws(StoreError) -> [StoredRecord] {
    var records: [StoredRecord] = []
    var start: Int64? = 0
    while let position = start {
      let page = try await self.records(in: collection, ownedBy: uid, after: position, atMost: 7)
      records += page.entries.map(\.record)
      start = page.next
    }
    return records
  }
}

/// Lists that are read in pages, and what bounds an owner.
extension StoreContract {
  /// The uids with records of a collection are all known, however many records there are, and no other ones.
  func listsOwners(_ store: any RecordStore) async throws {
    #expect(try await store.owners(in: .session).isEmpty)
    // More than one piece of a scan.
    try await withThrowingTaskGroup { group in
      for number in 0..<1500 {
        group.addTask { try await store.insert(Records.record(number, uid: UInt32(number % 3), size: 1)) }
      }
      try await group.waitForAll()
    }
    try await store.insert(Records.record(5000, uid: .max))
    try await store.insert(Records.record(5001, .authorization, uid: 77))
    #expect(try await store.owners(in: .session) == [0, 1, 2, .max])
    #expect(try await store.owners(in: .authorization) == [77])
    #expect(try await store.remove(Records.key(5000)))
    #expect(try await store.owners(in: .session) == [0, 1, 2])
  }

  /// A page has the requested number of records, in the order in which they were added, and leads to the next one.
  func listsInPages(_ store: any RecordStore) async throws {
    for number in 0..<25 {
      try await store.insert(Records.record(number, uid: 1))
      try await store.insert(Records.record(100 + number, uid: 2))
    }
    // A record that is written again keeps its position.
    try await store.replace(Records.record(3, uid: 1, version: 2), under: nil)
    var start: Int64 = 0
    for expected in [0..<10, 10..<20, 20..<25] {
      let page = try await store.records(in: .session, ownedBy: 1, after: start, atMost: 10)
      #expect(page.entries.map(\.record.key) == expected.map { Records.key($0) })
      #expect(page.entries.map(\.position) == page.entries.map(\.position).sorted())
      #expect((page.next == nil) == (expected.upperBound == 25))
      start = page.next ?? 0
    }
    let behind = try await store.records(in: .session, ownedBy: 1, after: .max, atMost: 10)
    #expect(behind.entries.isEmpty && behind.next == nil)
  }

  /// Every record that exists from the first page to the last is listed exactly once, whatever is added and removed in
  /// between.
  func listsWhatStaysOnce(_ store: any RecordStore) async throws {
    for number in 0..<40 { try await store.insert(Records.record(number, uid: 1)) }
    var seen: [RecordKey] = []
    var next = 40
    var start: Int64? = 0
    while let position = start, next < 200 {
      let page = try await store.records(in: .session, ownedBy: 1, after: position, atMost: 6)
      seen += page.entries.map(\.record.key)
      // The last listed record is removed, too: its position must still lead on.
      if let last = page.entries.last { _ = try await store.remove(last.record.key) }
      _ = try await store.remove(Records.key(next - 40 + 1))
      try await store.insert(Records.record(next, uid: 1))
      next += 1
      start = page.next
    }
    #expect(Set(seen).count == seen.count)
    let left = Set(try await store.records(in: .session, ownedBy: 1).map(\.key))
    let stayed = (0..<40).map { Records.key($0) }.filter(left.contains)
    #expect(stayed.count > 20 && stayed.allSatisfy(seen.contains))
  }

  /// Large records make a page short, and a single one is never too large for it.
  func endsAPageWithManyBytes(_ store: any RecordStore) async throws {
    let sizes = [100_000, 100_000, 100_000, 100_000, StoredRecord.maximumByteCount, 100]
    for (number, size) in sizes.enumerated() { try await store.insert(Records.record(number, uid: 1, size: size)) }
    var counts: [Int] = []
    var start: Int64? = 0
    while let position = start, counts.count < 10 {
      let page = try await store.records(in: .session, ownedBy: 1, after: position, atMost: 100)
      counts.append(page.entries.count)
      start = page.next
    }
    #expect(counts == [3, 2, 1])
  }

  /// Count and bytes follow every write.
  func knowsUsageOfUid(_ store: any RecordStore) async throws {
    #expect(try await store.usage(of: 1).bytes == 0)
    for number in 0..<5 { try await store.insert(Records.record(number, uid: 1, size: 1000)) }
    try await store.insert(Records.record(9, .authorization, uid: 1, size: 500))
    try await store.insert(Records.record(10, uid: 2, size: 77))
    let usage = try await store.usage(of: 1)
    #expect(usage.bytes == 5500 && usage.count(in: .session) == 5 && usage.count(in: .authorization) == 1)
    _ = try await store.remove(Records.key(0))
    _ = try await store.take(Records.key(1))
    await expect(.conflict) { try await store.insert(Records.record(2, uid: 1, size: 1000)) }
    let rest = try await store.usage(of: 1)
    #expect(rest.bytes == 3500 && rest.count(in: .session) == 3)
    #expect(try await store.usage(of: 2).bytes == 77)
  }
}
