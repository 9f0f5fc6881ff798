import AuthEngine
import Support
import TestSupport
import Testing

@Suite("A store that is opened when it is needed, and anew with other keys")
struct DeferredRecordStoreTests {
  /// Openings as they were made, and the stores they gave.
  private final class Openings: Sendable {
    let log = Locked<[String]>([])

    func opening(_ name: String, fails: Bool = false) -> DeferredRecordStore.Opening {
      { [self] () async throws(StoreError) in
        log.withLock { $0.append(name) }
        if fails { throw StoreError(.keyMismatch, "another key") }
        return MemoryRecordStore()
      }
    }
  }

  private func exchanged(
    _ store: DeferredRecordStore, _ opening: @escaping DeferredRecordStore.Opening
  ) async throws -> StoreError? {
    let (reports, continuation) = AsyncStream<StoreError?>.makeStream()
    store.exchange(opening) { continuation.yield($0) }
    // It is opened with the next call at the latest.
    _ = try await store.count(in: .session)
    for await report in reports { return report }
    return nil
  }

  @Test("another opening takes the place of an open store; one that fails leaves the one before it in force")
  func exchange() async throws {
    let openings = Openings()
    let store = DeferredRecordStore(clock: ManualClock(), open: openings.opening("one"))
    _ = try await store.count(in: .session)
    #expect(try await exchanged(store, openings.opening("two")) == nil)
    #expect(try await exchanged(store, openings.opening("bad", fails: true))?.kind == .keyMismatch)
    #expect(openings.log.withLock { $0 } == ["one", "two", "bad", "two"])
  }

  @Test("nothing is opened by an exchange before somebody needs the store")
  func untouched() async throws {
    let openings = Openings()
    let store = DeferredRecordStore(clock: ManualClock(), open: openings.opening("one"))
    store.exchange(openings.opening("two")) { _ in }
    #expect(openings.log.withLock { $0 } == [])
    _ = try await store.count(in: .session)
    #expect(openings.log.withLock { $0 } == ["two"])
  }

  @Test("no call fails, and none is answered by a closed store, however often the store is exchanged under them")
  func underLoad() async throws {
    let openings = Openings()
    let store = DeferredRecordStore(clock: ManualClock(), open: openings.opening("one"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<200 {
            _ = try await store.count(in: .session)
            await Task.yield()
          }
        }
      }
      for round in 0..<50 {
        store.exchange(openings.opening("\(round)")) { _ in }
        await Task.yield()
      }
      try await group.waitForAll()
    }
    #expect(try await exchanged(store, openings.opening("last")) == nil)
  }
}
