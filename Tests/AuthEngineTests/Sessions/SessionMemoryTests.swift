import AuthEngine
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import SessionRecords
@testable import Sessions

/// What the engine keeps of sessions in memory, where owners share it.
@Suite struct SessionMemoryTests {
  @Test("a session that the store could not take is lost when another user has very many of those")
  func unsaved() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    store.failReplacements(4)
    let creation = Task { try await bench.session(owner: 2) }
    for _ in 0..<3 {
      #expect(await eventually { bench.clock.sleeperCount == 1 })
      bench.clock.advance(by: .seconds(1))
    }
    await #expect(throws: SessionError.self) { try await creation.value }
    let contents = SessionContents(.random(), at: bench.issuer, kind: .user, createdAt: bench.clock.wallNow)
    bench.sessions.state.withLock { state in
      for _ in 0..<5000 { state.unsaved.set(contents, for: SessionHandle.random().key, of: 1) }
    }
    let session = try #require(try await bench.sessions.sessions(ownedBy: 2).first)
    #expect(try await bench.token(session, owner: 2).value.reveal() == "a-1")
  }

  @Test("a user with very many sessions makes another's be read, renewed or held up anew")
  func shared() async throws {
    let bench = try SessionBench()
    let mine = try await bench.sessions.live(bench.session(owner: 2).handle, ownedBy: 2)
    var state = UserSessions.State()
    func add(_ key: RecordKey, _ owner: UInt32) {
      state.sessions.set(mine, for: key, of: owner)
      state.ended.set(true, for: key, of: owner)
      state.unsaved.set(mine.contents, for: key, of: owner)
      state.held.set([], for: key, of: owner)
      let refusal = TokenBackoff(
        after: TokenError(.refused(nil), "no"), previous: nil, now: bench.clock.monotonicNow)
      if let refusal { state.backoffs.set(refusal, for: RefreshKey(key: key, slot: .session), of: owner) }
    }
    let key = mine.handle.key
    add(key, 2)
    for _ in 0..<5000 { add(SessionHandle.random().key, 1) }
    #expect(state.sessions[key] != nil && state.ended[key] != nil && state.unsaved[key] != nil)
    #expect(state.held[key] != nil && state.backoffs[RefreshKey(key: key, slot: .session)] != nil)
  }
}
