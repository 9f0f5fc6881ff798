import AuthEngine
import EngineTestSupport
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import SessionRecords
@testable import Sessions

/// The engine's memory of sessions, where owners share it.
@Suite struct SessionMemoryTests {
  @Test("a session that the store could not take is lost when another user has very many of those")
  func unsaved() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    store.failReplacements(4)
    let creation = Task { try await bench.session(uid: 2) }
    for _ in 0..<3 {
      #expect(await eventually { bench.clock.sleeperCount == 1 })
      bench.clock.advance(by: .seconds(1))
    }
    await #expect(throws: SessionError.self) { try await creation.value }
    let contents = SessionContents(.random(), at: bench.issuer, kind: .user, createdAt: bench.clock.wallNow)
    bench.sessions.repository.cache.withLock { cache in
      for _ in 0..<5000 { cache.unsaved.set(contents, for: SessionHandle.random().key, of: 1) }
    }
    let session = try #require(try await bench.sessions.sessions(in: .uid(2)).first)
    #expect(try await bench.token(session, uid: 2).value.reveal() == "a-1")
  }

  @Test("a user with very many sessions has another's read, refreshed or suspended again")
  func shared() async throws {
    let bench = try SessionBench()
    let mine = try await bench.sessions.repository.live(bench.session(uid: 2).handle, in: .uid(2))
    let (suspended, refresher) = (SuspendedRefreshes(), bench.sessions.refresher)
    var cache = SessionCache()
    func add(_ handle: SessionHandle, _ uid: UInt32) {
      let key = handle.key
      cache.sessions.set(mine, for: key, of: uid)
      cache.ended.set(true, for: key, of: uid)
      cache.unsaved.set(mine.contents, for: key, of: uid)
      suspended.entries.withLock { $0.set([], for: key, of: uid) }
      let rejection = TokenBackoff(
        after: TokenError(.rejected(nil), "no"), previous: nil, now: bench.clock.monotonicNow)
      refresher.setBackoff(rejection, of: handle, .session, ownedBy: uid)
    }
    let key = mine.handle.key
    add(mine.handle, 2)
    for _ in 0..<5000 { add(.random(), 1) }
    #expect(cache.sessions[key] != nil && cache.ended[key] != nil && cache.unsaved[key] != nil)
    #expect(suspended.entries.withLock { $0[key] } != nil)
    #expect(refresher.backoff(of: mine.handle, .session) != nil)
  }
}
