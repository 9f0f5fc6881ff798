import PosternSupport
import SessionRecords
import Testing

/// Returns the number of successful calls of those made at once. The others exceeded the capacity.
func successes(
  of count: Int, _ call: @escaping @Sendable (_ number: Int) async throws(StoreError) -> Void
) async -> Int {
  await withTaskGroup(of: StoreError?.self) { group in
    for number in 0..<count {
      group.addTask {
        do throws(StoreError) {
          try await call(number)
          return nil
        } catch { return error }
      }
    }
    var successes = 0
    for await error in group {
      #expect(error == nil || error?.kind == .overdrawn, "\(String(describing: error))")
      if error == nil { successes += 1 }
    }
    return successes
  }
}

/// The share of one owner, however many calls run at one moment.
extension StoreContract {
  /// Many insertions at once succeed as far as there is capacity.
  func boundsWhatIsAddedAtOnce(_ store: any RecordStore) async throws {
    try await store.insert(Records.record(1000, uid: 2, size: 5000))
    let few = RecordAllowance(count: 7, bytes: .max)
    let counted = await successes(of: 60) { (number) async throws(StoreError) in
      try await store.insert(Records.record(number, .authorization, uid: 1, size: 10), within: few)
    }
    #expect(counted == 7)
    let small = RecordAllowance(count: 1000, bytes: 10_070)
    let weighed = await successes(of: 60) { (number) async throws(StoreError) in
      try await store.insert(Records.record(number, uid: 1, size: 1000), within: small)
    }
    #expect(weighed == 10)
    #expect(try await store.usage(of: 1).bytes == 10_070)
    // The other owner's are not counted, removed records free their capacity, and without an allowance there is no
    // bound.
    try await store.insert(Records.record(1001, uid: 2, size: 5000), within: RecordAllowance(count: 2, bytes: 10_000))
    let gone = try #require(try await store.records(in: .session, ownedBy: 1).first)
    #expect(try await store.remove(gone.key))
    try await store.insert(Records.record(200, uid: 1, size: 1000), within: small)
    await expect(.overdrawn) { try await store.insert(Records.record(201, uid: 1, size: 1), within: small) }
    try await store.insert(Records.record(202, uid: 1, size: 1))
  }

  /// Many records that grow at once do so as far as there is capacity, and one that shrinks always may.
  func boundsWhatGrowsAtOnce(_ store: any RecordStore) async throws {
    for number in 0..<10 { try await store.insert(Records.record(number, uid: 1, size: 100)) }
    let allowance = RecordAllowance(count: 0, bytes: 5500)
    let grown = await successes(of: 10) { (number) async throws(StoreError) in
      try await store.replace(Records.record(number, uid: 1, version: 2, size: 1000), under: nil, within: allowance)
    }
    #expect(grown == 5)
    #expect(try await store.usage(of: 1).bytes == 5500)
    let none = RecordAllowance(count: 0, bytes: 0)
    for record in try await store.records(in: .session, ownedBy: 1) {
      var smaller = record
      smaller.version += 1
      smaller.contents = Secret([1, 2, 3])
      try await store.replace(smaller, under: nil, within: none)
    }
    #expect(try await store.usage(of: 1).bytes == 30)
  }

  /// Exactly one of many calls with one value is the first, whichever uid calls; other values are their own.
  func spendsOnce(_ store: any RecordStore) async throws {
    let now = SystemClock().wallNow
    let first = try await withThrowingTaskGroup(of: Int?.self) { group in
      for call in 0..<200 {
        group.addTask {
          let value = Records.key(call / 2).id
          let share = SpendingShare.uid(UInt32(call % 2))
          return try await store.spend(value, by: share, until: now + .seconds(60), at: now) ? call / 2 : nil
        }
      }
      return try await group.reduce(into: [Int]()) { found, value in if let value { found.append(value) } }
    }
    #expect(first.sorted() == Array(0..<100))
    #expect(try await store.spend(Records.key(1).id, by: .uid(9), until: now + .seconds(60), at: now) == false)
    await expect(.invalid) { _ = try await store.spend([1, 2, 3], by: .uid(1), until: now + .seconds(1), at: now) }
  }
}
