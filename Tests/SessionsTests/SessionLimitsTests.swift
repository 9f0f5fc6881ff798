import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternCrypto
import PosternSupport
import PosternTestSupport
import Testing

/// State that grows with use is bounded, removed when it is no longer used, and not searched in whole at every call.
@Suite struct SessionLimitsTests {
  @Test("a session that is refreshed stays, one without a refresh for 90 days is removed")
  func idle() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    // What has expired may have been removed by then, behind the session's making.
    func left() async throws -> Int {
      _ = try await bench.store.purge(expiredAt: bench.clock.wallNow)
      return try await bench.store.count(in: .session)
    }
    bench.clock.advance(by: .seconds(89 * 86_400))
    #expect(try await left() == 1)
    _ = try await bench.token(session)
    bench.clock.advance(by: .seconds(89 * 86_400))
    #expect(try await left() == 1)
    bench.clock.advance(by: .seconds(2 * 86_400))
    #expect(try await left() == 0)
  }

  @Test("a uid has 10,000 sessions at most; what has expired does not count, others are not touched")
  func perUid() async throws {
    let bench = try SessionBench()
    for number in 0..<10_000 {
      let key = RecordKey(collection: .session, id: HashFunction.sha256.hash(Array("\(number)".utf8)))
      try await bench.store.insert(
        StoredRecord(
          key: key, uid: 1, version: 1, expiresAt: bench.clock.wallNow + .seconds(60), contents: Secret([])))
    }
    let error = await #expect(throws: SessionError.self) { try await bench.session() }
    guard case .overloaded(nil)? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(bench.refreshes.isEmpty)
    _ = try await bench.session(uid: 2)
    bench.clock.advance(by: .seconds(61))
    _ = try await bench.session()
  }

  @Test("a call that names no session does not read all of them each time, and sees what began or ended since")
  func choice() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    func choice() async throws -> SessionChoice {
      try await bench.sessions.choice(of: .user, at: "corp", ownedBy: 1)
    }
    #expect(try await choice() == .none)
    let first = try await bench.session()
    #expect(try await choice() == .one(first.handle))
    let read = store.listings
    for _ in 0..<10 { #expect(try await choice() == .one(first.handle)) }
    #expect(store.listings == read)
    let second = try await bench.session()
    #expect(try await choice() == .several)
    _ = try await bench.sessions.end(first.handle, ownedBy: 1, at: nil)
    #expect(try await choice() == .one(second.handle))
    try await bench.sessions.revokeTokens(of: second.handle, ownedBy: 1, at: bench.issuer)
    #expect(try await choice() == .one(second.handle))
    let third = try await bench.session()
    #expect(try await choice() == .one(third.handle))
    #expect(try await bench.sessions.choice(of: .user, at: "corp", ownedBy: 2) == .none)
  }

  @Test("another user's login keeps the sessions read for a choice from being cached, or one's own does not")
  func choiceWhileOthersLogIn() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    func login(_ uid: UInt32) async throws -> SessionHandle {
      var given = SessionGrant.GivenTokens()
      given.accessToken = Secret("given")
      given.expiresIn = 6000
      return try await bench.sessions.create(from: .tokens(given), at: bench.issuer, ownedBy: uid).handle
    }
    func choice() async throws -> SessionChoice {
      try await bench.sessions.choice(of: .user, at: "corp", ownedBy: 1)
    }
    let first = try await login(1)
    for (other, isCached) in [(2, true), (1, false)] as [(UInt32, Bool)] {
      let gate = Gate()
      store.holdListings(at: gate)
      let reading = Task { try await bench.sessions.choice(of: .user, at: "corp", ownedBy: 1) }
      #expect(await eventually { gate.waiterCount == 1 })
      _ = try await login(other)
      gate.open()
      _ = try await reading.value
      store.holdListings(at: nil)
      let read = store.listings
      #expect(try await choice() == (isCached ? .one(first) : .several))
      #expect((store.listings == read) == isCached)
      let passing = try await login(1)
      _ = try await bench.sessions.end(passing, ownedBy: 1, at: nil)
    }
  }

  @Test("a session that expires leaves the choice to the other one when its time has come")
  func expiry() async throws {
    let bench = try SessionBench()
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("short")
    given.expiresIn = 60
    let short = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, ownedBy: 1)
    let long = try await bench.session()
    #expect(try await bench.sessions.choice(of: .user, at: "corp", ownedBy: 1) == .several)
    bench.clock.advance(by: .seconds(61))
    #expect(try await bench.sessions.choice(of: .user, at: "corp", ownedBy: 1) == .one(long.handle))
    #expect(short.handle != long.handle)
  }

  @Test("where others share the store a choice is cached for a moment only")
  func shared() async throws {
    let first = try SessionBench()
    let second = try SessionBench(alongside: first)
    #expect(try await second.sessions.choice(of: .user, at: "corp", ownedBy: 1) == .none)
    let session = try await first.session()
    second.clock.advance(by: .seconds(2))
    #expect(try await second.sessions.choice(of: .user, at: "corp", ownedBy: 1) == .one(session.handle))
  }

  @Test("a refresh that grants less is what the session has from then on")
  func narrowed() async throws {
    let bench = try SessionBench(scope: "openid orders")
    let session = try await bench.session()
    bench.provider.withLock {
      $0.answers = [.json(#"{"access_token":"n","token_type":"Bearer","expires_in":300,"scope":"orders"}"#)]
    }
    let refreshed = try await bench.sessions.refresh(session.handle, ownedBy: 1, at: bench.issuer)
    #expect(refreshed.scope == "orders")
    #expect(try await bench.token(session).scope == "orders")
  }

  @Test("a token that lacks a scope is not used where there is no way to another, or a refresh widens it unstated")
  func lackingScope() async throws {
    let bench = try SessionBench()
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("given")
    given.expiresIn = 600
    given.scope = "openid"
    let alone = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, ownedBy: 1)
    given.refreshToken = Secret("r-0")
    let refreshable = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, ownedBy: 1)
    func token(_ session: Session, mayLackScope: Bool = true) async throws(SessionError) -> AccessToken {
      try await bench.sessions.token(
        of: session.handle, ownedBy: 1, at: bench.issuer, scope: "orders", mayLackScope: mayLackScope)
    }
    #expect(try await token(alone).value.reveal() == "given")
    await #expect(throws: SessionError.self) { try await token(alone, mayLackScope: false) }
    let refreshed = try await token(refreshable)
    #expect(refreshed.value.reveal() == "a-1" && refreshed.scope == "openid")
  }

  @Test("a session that cannot be read can be ended")
  func damaged() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let record = try #require(try await bench.store.records(in: .session, ownedBy: 1).first)
    var damaged = record
    damaged.version += 1
    damaged.contents = Secret(Array("{}".utf8))
    try await bench.store.replace(damaged, under: nil)
    let other = try SessionBench(alongside: bench)
    #expect(try await other.sessions.sessions(ownedBy: 1).isEmpty)
    #expect(other.events.names == ["troubled"])
    #expect(try await other.sessions.end(session.handle, ownedBy: 1, at: nil) == UserSessions.UpstreamEnd.none)
    #expect(try await bench.store.count(in: .session) == 0)
  }
}
