import AuthEngine
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

  @Test("one owner fills a store in memory for everybody, or a full one counts as broken")
  func memoryIsShared() async throws {
    let store = MemoryRecordStore(capacity: 100)
    var refusal: StoreError?
    for number in 0..<100 where refusal == nil {
      do throws(StoreError) {
        try await store.insert(Records.record(number, owner: 1))
      } catch {
        refusal = error
      }
    }
    #expect(refusal?.kind == .unavailable && refusal?.isOutage == false)
    #expect(try await store.usage(of: 1).count(in: .session) == 75)
    for number in 200..<210 { try await store.insert(Records.record(number, owner: 2)) }
  }

  @Test("a store in a file breaks a promise of the port", arguments: StoreContract.allCases)
  func file(_ contract: StoreContract) async throws {
    let folder = TemporaryFolder()
    let store = try await FileRecordStore.open(.init(directory: folder.store))
    try await contract.check(store)
    await store.close()
  }
}
