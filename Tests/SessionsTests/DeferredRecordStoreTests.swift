import AuthEngine
import EngineTestSupport
import PosternSupport
import PosternTestSupport
import Testing

@Suite("A store that is opened when it is needed, and again with other keys")
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

  @Test("another opening replaces an open store; one that fails leaves the previous one in use")
  func exchange() async throws {
    let openings = Openings()
    let store = DeferredRecordStore(clock: ManualClock(), open: openings.opening("one"))
    _ = try await store.count(in: .session)
    #expect(try await exchanged(store, openings.opening("two")) == nil)
    #expect(try await exchanged(store, openings.opening("bad", fails: true))?.kind == .keyMismatch)
    #expect(openings.log.withLock { $0 } == ["one", "two", "bad", "two"])
  }

  @Test("a store is left before what only memory has was written")
  func lastWrites() async throws {
    let store = DeferredRecordStore(clock: ManualClock(), open: Openings().opening("one"))
    let found = Locked<Int?>(nil)
    await store.giveUp {
      let count = try? await store.count(in: .session)
      found.withLock { $0 = count }
    }
    #expect(found.withLock { $0 } == 0)
    await #expect(throws: StoreError.self) { try await store.count(in: .session) }
  }

  @Test("an exchange opens nothing before a call needs the store")
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

  @Test("a store is left while something holds it, or something begins to that would keep it from the next process")
  func leaving() async throws {
    let openings = Openings()
    let store = DeferredRecordStore(clock: ManualClock(), open: openings.opening("one"))
    try store.beginRetention(isNested: false)
    let isOver = Locked(false)
    let leaving = Task {
      await store.giveUp()
      isOver.withLock { $0 = true }
    }
    #expect(await eventually { Self.rejectsOperations(store) })
    // What holds it still reads and writes, and so do its parts; who only reads may meanwhile.
    try store.beginRetention(isNested: true)
    #expect(try await store.count(in: .session) == 0)
    store.endRetention()
    #expect(!isOver.withLock { $0 })
    store.endRetention()
    await leaving.value
    for _ in 0..<2 {
      do throws(StoreError) {
        _ = try await store.count(in: .session)
        Issue.record("a store that was left was opened again")
      } catch {
        #expect(error.kind == .locked && error.isRetryable && error.retryAfter == .seconds(1))
      }
    }
    #expect(openings.log.withLock { $0 } == ["one"])
    await store.giveUp()
  }

  private static func rejectsOperations(_ store: DeferredRecordStore) -> Bool {
    do {
      try store.beginRetention(isNested: false)
      store.endRetention()
      return false
    } catch {
      return true
    }
  }

  @Test("a refresh at the issuer loses its refresh token to the hand-over of the store, or one begins in it")
  func refreshes() async throws {
    // What is left is there for the next process.
    let records = TroubledStore(closes: false)
    let store = DeferredRecordStore(clock: ManualClock(), open: { () async throws(StoreError) in records })
    let bench = try SessionBench(store: store)
    // Its refresh token is used up by the other session: the issuer would report another use as reuse.
    let other = try await bench.session(uid: 2)
    let session = try await bench.session()
    let (old, others) = (try await bench.token(session), try await bench.token(other, uid: 2))
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let refresh = Task { try await bench.token(session, replacing: old).value.reveal() }
    #expect(await eventually { gate.waiterCount == 1 })
    let leaving = Task { await store.giveUp() }
    #expect(await eventually { Self.rejectsOperations(store) })
    // The token that is there is as good as before, a new one is for the next process to ask for.
    #expect(try await bench.token(other, uid: 2).value.reveal() == others.value.reveal())
    await #expect(throws: SessionError.self) { try await bench.token(other, replacing: others, uid: 2) }
    gate.open()
    let refreshed = try await refresh.value
    await leaving.value
    let next = try SessionBench(store: records, alongside: bench)
    #expect(try await next.token(session).value.reveal() == refreshed)
    #expect(try await next.token(session, replacing: try await next.token(session)).value.reveal() != refreshed)
    #expect(!bench.provider.withLock { $0.isReused })
  }
}
