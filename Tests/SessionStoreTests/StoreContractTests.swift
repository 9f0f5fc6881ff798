import PosternSupport
import SessionRecords
import SessionStore
import Testing

@Suite("What every store does")
struct StoreContractTests {
  @Test("a store in memory breaks a promise of the port", arguments: StoreContract.allCases)
  func memory(_ contract: StoreContract) async throws {
    try await contract.check(MemoryRecordStore())
  }

  @Test("a store in memory grows without bound, or cannot be used again after it was full")
  func memoryIsBounded() async throws {
    let store = MemoryRecordStore(capacity: 2)
    try await store.insert(Records.record(1))
    try await store.insert(Records.record(2))
    await expect(.unavailable) { try await store.insert(Records.record(3)) }
    #expect(try await store.remove(Records.key(1)))
    try await store.insert(Records.record(3))
  }

  @Test("one uid fills a store in memory for everybody, or a full one counts as broken")
  func memoryIsShared() async throws {
    let store = MemoryRecordStore(capacity: 100)
    var rejection: StoreError?
    for number in 0..<100 where rejection == nil {
      do throws(StoreError) {
        try await store.insert(Records.record(number, uid: 1))
      } catch {
        rejection = error
      }
    }
    #expect(rejection?.kind == .unavailable && rejection?.isOutage == false)
    #expect(try await store.usage(of: 1).count(in: .session) == 75)
    for number in 200..<210 { try await store.insert(Records.record(number, uid: 2)) }
  }

  @Test("in a store in memory that others have filled, a uid's newest login replaces none of its own, or another uid's")
  func memoryIsFull() async throws {
    let store = MemoryRecordStore(capacity: 100)
    let allowance = RecordAllowance(count: 1000, bytes: .max, replaceable: .authorization)
    for number in 0..<75 { try await store.insert(Records.record(number, uid: 1)) }
    for number in 100..<150 {
      try await store.insert(Records.record(number, .authorization, uid: 2), within: allowance)
    }
    let left = try await store.records(in: .authorization, ownedBy: 2).map(\.key)
    #expect(!left.isEmpty && left == (100..<150).suffix(left.count).map { Records.key($0, .authorization) })
    #expect(try await store.usage(of: 1).count(in: .session) == 75)
    await expect(.unavailable) {
      try await store.insert(Records.record(150, .authorization, uid: 1), within: allowance)
    }
  }

  /// Would catch: a purge that reads the records of all users, while a user at their limit causes one with each attempt
  /// to log in.
  @Test("to look for what has expired in a store in memory costs more, the more others have that has not")
  func memoryPurge() async throws {
    let store = MemoryRecordStore()
    let expiry = Records.farFuture
    for number in 0..<20_000 { try await store.insert(Records.record(number, expiresAt: expiry, size: 1)) }
    let begin = ContinuousClock.now
    for _ in 0..<2000 { #expect(try await store.purge(expiredAt: expiry) == 0) }
    #expect(ContinuousClock.now - begin < .seconds(3))
    #expect(try await store.purge(expiredAt: expiry + .milliseconds(1)) == 1000)
  }

  @Test("a record in memory goes at the time it had once, or stays after the time it has now")
  func memoryExpiry() async throws {
    let store = MemoryRecordStore()
    let start = Records.farFuture
    for number in 0..<500 {
      try await store.insert(Records.record(number, expiresAt: start + .seconds(number * 37 % 100)))
    }
    // Many times, so that what is left behind of the old times is tidied up.
    for version in 2...10 as ClosedRange<UInt64> {
      for number in 0..<100 {
        try await store.replace(
          Records.record(number, version: version, expiresAt: start + .seconds(200 + Int(version))), under: nil)
      }
    }
    for number in 100..<200 { #expect(try await store.remove(Records.key(number))) }
    try await store.insert(Records.record(100, expiresAt: start + .seconds(300)))
    let late = (200..<500).count { $0 * 37 % 100 < 50 }
    #expect(try await store.purge(expiredAt: start + .seconds(50)) == late)
    #expect(try await store.purge(expiredAt: start + .seconds(210)) == 300 - late)
    #expect(try await store.purge(expiredAt: start + .seconds(211)) == 100)
    #expect(try await store.purge(expiredAt: start + .seconds(300)) == 0)
    #expect(try await store.purge(expiredAt: start + .seconds(301)) == 1)
    #expect(try await store.count(in: .session) == 0)
  }

  @Test("a store in a file breaks a promise of the port", arguments: StoreContract.allCases)
  func file(_ contract: StoreContract) async throws {
    let folder = TemporaryFolder()
    let store = try await FileRecordStore.open(.init(directory: folder.store))
    try await contract.check(store)
    await store.close()
  }
}
