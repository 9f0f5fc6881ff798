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

  /// A uid at its number of records loses its oldest ones of that collection, and of no other one; another uid loses none.
  func replacesTheOldest(_ store: any RecordStore) async throws {
    let allowance = RecordAllowance(count: 3, bytes: .max, replaceable: .authorization)
    for number in 0..<3 {
      try await store.insert(Records.record(100 + number, uid: 1))
      try await store.insert(Records.record(200 + number, .authorization, uid: 2))
    }
    for number in 0..<20 { try await store.insert(Records.record(number, .authorization, uid: 1), within: allowance) }
    func left(_ uid: UInt32, _ collection: RecordKey.Collection = .authorization) async throws -> [RecordKey] {
      try await store.records(in: collection, ownedBy: uid).map(\.key)
    }
    #expect(try await left(1) == (17..<20).map { Records.key($0, .authorization) })
    #expect(try await store.record(for: Records.key(16, .authorization)) == nil)
    #expect(try await left(2).count == 3)
    #expect(try await left(1, .session).count == 3)
    let usage = try await store.usage(of: 1)
    #expect(usage.count(in: .authorization) == 3 && usage.bytes == 6 * 300)
    #expect(try await store.count(in: .authorization) == 6)
    // Not one that was taken or given back meanwhile, and as many as there are too many.
    let taken = try #require(try await store.take(Records.key(17, .authorization)))
    for number in 20..<22 { try await store.insert(Records.record(number, .authorization, uid: 1)) }
    try await store.insert(taken)
    try await store.insert(Records.record(22, .authorization, uid: 1), within: allowance)
    #expect(try await left(1) == [21, 17, 22].map { Records.key($0, .authorization) })
    await expect(.conflict) { try await store.insert(Records.record(22, .authorization, uid: 1), within: allowance) }
    #expect(try await left(1).count == 3)
    await expect(.overdrawn) { try await store.insert(Records.record(103, uid: 1), within: allowance) }
    #expect(try await left(1, .session).count == 3)
    // What is written after it is as it was.
    try await store.insert(Records.record(103, uid: 1))
    #expect(try await store.remove(Records.key(21, .authorization)))
    #expect(try await left(1).count == 2)
  }

  /// A uid at its number of bytes loses the oldest replaceable ones, as many as are needed, and none where all of them
  /// would not be enough.
  func replacesForBytes(_ store: any RecordStore) async throws {
    let allowance = RecordAllowance(count: 1000, bytes: 10_000, replaceable: .authorization)
    func left() async throws -> [Int] {
      let keys = try await store.records(in: .authorization, ownedBy: 1).map(\.key)
      return (0..<100).filter { keys.contains(Records.key($0, .authorization)) }
    }
    for number in 0..<20 { try await store.insert(Records.record(number, .authorization, uid: 1, size: 500)) }
    try await store.insert(Records.record(20, .authorization, uid: 1, size: 501), within: allowance)
    #expect(try await left() == Array(2...20))
    try await store.insert(Records.record(100, uid: 1, size: 4000), within: allowance)
    #expect(try await left() == Array(10...20))
    #expect(try await store.usage(of: 1).bytes == 9501)
    try await store.replace(Records.record(100, uid: 1, version: 2, size: 4500), under: nil, within: allowance)
    #expect(try await left() == Array(11...20))
    #expect(try await store.usage(of: 1).bytes == 9501)
    // One that grows itself stays, although it is the oldest.
    try await store.replace(
      Records.record(11, .authorization, uid: 1, version: 2, size: 1000), under: nil, within: allowance)
    #expect(try await left() == [11] + Array(13...20))
    await expect(.overdrawn) { try await store.insert(Records.record(101, uid: 1, size: 6000), within: allowance) }
    await expect(.overdrawn) {
      try await store.replace(Records.record(100, uid: 1, version: 3, size: 10_001), under: nil, within: allowance)
    }
    #expect(try await left() == [11] + Array(13...20))
    try await store.insert(Records.record(101, uid: 1, size: 5500), within: allowance)
    #expect(try await left() == [])
    #expect(try await store.usage(of: 1).bytes == 10_000)
    await expect(.overdrawn) { try await store.insert(Records.record(102, uid: 1, size: 1), within: allowance) }
  }

  /// Of many at once none is rejected, and there are never more than allowed.
  func replacesAtOnce(_ store: any RecordStore) async throws {
    let allowance = RecordAllowance(count: 7, bytes: 5000, replaceable: .authorization)
    try await store.insert(Records.record(1000, .authorization, uid: 2))
    let inserted = await successes(of: 200) { (number) async throws(StoreError) in
      try await store.insert(Records.record(number, .authorization, uid: 1, size: 600 + number), within: allowance)
    }
    #expect(inserted == 200)
    let usage = try await store.usage(of: 1)
    #expect((5...7).contains(usage.count(in: .authorization)) && usage.bytes <= 5000, "\(usage)")
    let left = try await store.records(in: .authorization, ownedBy: 1)
    #expect(left.reduce(0) { $0 + $1.contents.byteCount } == usage.bytes)
    #expect(try await store.record(for: Records.key(1000, .authorization)) != nil)
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
