import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// OpenID Connect Back-Channel Logout 1.0 section 2.7: what a valid logout token ends.
@Suite struct BackChannelLogoutTests {
  /// An engine whose token endpoint answers with an ID token of a test's choice.
  private struct Bench {
    let tokens: TokenBench
    let store: any RecordStore
    let transport: ScriptedTransport
    let engine: PosternEngine
    let issuer: SessionIssuer
    let events = SessionLog()
    let gate = Locked<Gate?>(nil)
    let idToken = Locked<String?>(nil)
    /// The life of a device code.
    let deviceLife = Locked<Int64>(600)

    var clock: ManualClock { tokens.clock }

    init(store: any RecordStore = MemoryRecordStore(), alongside other: Bench? = nil, name: String = "corp") throws {
      tokens = try other?.tokens ?? TokenBench()
      self.store = other?.store ?? store
      let (gate, idToken, deviceLife) = (gate, idToken, deviceLife)
      transport = ScriptedTransport { request, _ throws(TransportError) in
        if request.url.path == "/device" {
          let life = deviceLife.withLock { $0 }
          return .json(
            #"{"device_code":"d","user_code":"u","verification_uri":"https://idp.test/","expires_in":\#(life)}"#)
        }
        guard request.url.path == "/token" else { return .status(200) }
        await gate.withLock { $0 }?.pass()
        let idToken = idToken.withLock { $0 }.map { #","id_token":"\#($0)""# } ?? ""
        return .json(
          #"{"access_token":"new-access","token_type":"Bearer","expires_in":300,"refresh_token":"new-refresh"\#(idToken)}"#
        )
      }
      var observers = PosternEngine.Observers()
      observers.sessions = events
      engine = PosternEngine(
        transport: transport, clock: tokens.clock, userAgent: "postern/test",
        storage: .init(self.store, isShared: other != nil), observers: observers)
      var configuration = tokens.configuration
      configuration.clockSkew = .zero
      issuer = SessionIssuer(
        issuer: try Issuer(
          name: name, identifier: TokenBench.issuer, clientID: "shop",
          clientAuthentication: ClientSecretBasic(secret: Secret("secret")),
          endpoints: try ["token", "revoke", "logout", "device"].enumerated().reduce(into: [:]) { endpoints, item in
            let kinds: [ProviderEndpoint] = [.token, .revocation, .endSession, .deviceAuthorization]
            endpoints[kinds[item.offset]] = try HTTPURL("https://idp.test/\(item.element)")
          }),
        tokens: configuration, keys: tokens.source)
    }

    func idToken(_ subject: String, sid: String?) throws -> String {
      try tokens.token(["sub": .string(subject), "sid": sid.map { .string($0) }])
    }

    /// A session from tokens that came from elsewhere.
    @discardableResult
    func session(_ subject: String, sid: String? = nil, uid: UInt32 = 1) async throws -> Session {
      var given = SessionGrant.GivenTokens()
      given.accessToken = Secret("access-\(sid ?? subject)")
      given.refreshToken = Secret("refresh-\(sid ?? subject)")
      given.idToken = try idToken(subject, sid: sid)
      return try await engine.sessions.create(from: .tokens(given), at: issuer, in: .uid(uid))
    }

    /// A session from an authorization code.
    func logIn(_ subject: String, sid: String) async throws -> Session {
      idToken.withLock { $0 = try? idToken(subject, sid: sid) }
      return try await engine.sessions.create(
        from: .authorizationCode(code: Secret("c"), codeVerifier: nil, redirectURI: "https://app.test/cb"),
        at: issuer, in: .uid(1))
    }

    func end(sub: String? = nil, sid: String? = nil) async throws(SessionError) -> Int {
      var claims = JSONObject()
      claims["sub"] = sub.map { .string($0) }
      claims["sid"] = sid.map { .string($0) }
      claims["jti"] = "l"
      return try await engine.endSessions(
        of: claims, expecting: LogoutTokenExpectations(clientID: "shop"), at: issuer)
    }

    func left(uid: UInt32 = 1) async throws -> Int { try await engine.sessions.sessions(in: .uid(uid)).count }

    /// The forms of the requests to the revocation endpoint.
    var revocations: [String] {
      transport.requests(to: "https://idp.test/revoke").map { String(decoding: $0.body ?? [], as: UTF8.self) }
    }
  }

  @Test("a subject's logout spares a session of theirs, of whatever uid, or ends another's")
  func subject() async throws {
    let bench = try Bench()
    let other = try Bench(alongside: bench, name: "other")
    for uid in [1, 1, 2] as [UInt32] { try await bench.session("alice", uid: uid) }
    try await bench.session("alicea", uid: 2)
    try await other.session("alice", uid: 1)
    #expect(try await bench.end(sub: "alice") == 3)
    #expect(try await bench.left(uid: 1) == 1)
    #expect(try await bench.left(uid: 2) == 1)
    #expect(bench.events.names == ["ended", "ended", "ended"])
    #expect(try await bench.end(sub: "alice") == 0)
    #expect(try await other.end(sub: "alice") == 1)
  }

  @Test("the logout of one login ends another login of its user, or a login of another user than it names")
  func login() async throws {
    let bench = try Bench()
    for sid in ["s-1", "s-2", "s-3"] { try await bench.session("alice", sid: sid) }
    try await bench.session("alice")
    #expect(try await bench.end(sub: "bob", sid: "s-1") == 0)
    #expect(try await bench.end(sub: "alice", sid: "s-1") == 1)
    #expect(try await bench.end(sid: "s-2") == 1)
    #expect(try await bench.end(sid: "s") == 0)
    #expect(try await bench.left() == 2)
  }

  @Test("thousands of sessions are ended in part, or each with a wait of its own")
  func many() async throws {
    let bench = try Bench()
    for number in 0..<400 { try await bench.session(number % 2 == 0 ? "alice" : "bob", uid: UInt32(number % 4)) }
    #expect(try await bench.end(sub: "alice") == 200)
    for uid in 0..<4 as Range<UInt32> { #expect(try await bench.left(uid: uid) == (uid % 2 == 0 ? 0 : 100)) }
  }

  @Test("a login that completes after its logout gives a session, or its tokens stay valid")
  func logoutFirst() async throws {
    let bench = try Bench()
    #expect(try await bench.end(sid: "s-1") == 0)
    let error = await #expect(throws: SessionError.self) { try await bench.logIn("alice", sid: "s-1") }
    #expect(error?.upstreamCode == "logged_out" && error?.description.hasPrefix("authorization_failed") == true)
    await #expect(throws: SessionError.self) { try await bench.session("alice", sid: "s-1") }
    #expect(try await bench.store.count(in: .session) == 0)
    #expect(await eventually { bench.revocations.contains { $0.contains("new-refresh") } })
    _ = try await bench.logIn("alice", sid: "s-2")
    bench.clock.advance(by: .seconds(3901))
    _ = try await bench.logIn("alice", sid: "s-1")
  }

  @Test("a login whose code is being exchanged outlives its logout", arguments: [true, false])
  func logoutMeanwhile(isShared: Bool) async throws {
    let bench = try Bench()
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let login = Task { try await bench.logIn("alice", sid: "s-1") }
    #expect(await eventually { gate.waiterCount == 1 })
    let process = isShared ? try Bench(alongside: bench) : bench
    #expect(try await process.end(sub: "alice", sid: "s-1") == 0)
    gate.open()
    await #expect(throws: SessionError.self) { try await login.value }
    #expect(try await bench.store.count(in: .session) == 0)
  }

  @Test("a logout marks no second login of the same sid, when the first mark is about to expire")
  func markedAgain() async throws {
    let bench = try Bench()
    _ = try await bench.end(sid: "s-1")
    bench.clock.advance(by: .seconds(3899))
    _ = try await bench.end(sid: "s-1")
    bench.clock.advance(by: .seconds(2))
    await #expect(throws: SessionError.self) { try await bench.logIn("alice", sid: "s-1") }
  }

  @Test("a login on another device takes longer than a logout is remembered", arguments: [600, 3600, 86_400])
  func longLogin(life: Int64) async throws {
    let bench = try Bench()
    bench.deviceLife.withLock { $0 = life }
    let begun = try await bench.engine.sessions.beginDeviceAuthorization(at: bench.issuer, scope: nil, in: .uid(1))
    bench.idToken.withLock { $0 = try? bench.idToken("alice", sid: "s-1") }
    // The user has logged in there, and logs out at once; the program polls at the last moment.
    bench.clock.advance(by: .seconds(10))
    _ = try await bench.end(sid: "s-1")
    let left = begun.expiresAt - bench.clock.wallNow
    #expect(left == .seconds(min(life, 3600) - 10))
    bench.clock.advance(by: left + .milliseconds(-1))
    bench.idToken.withLock { $0 = try? bench.idToken("alice", sid: "s-1") }
    let error = await #expect(throws: SessionError.self) {
      try await bench.engine.sessions.completeDeviceAuthorization(
        begun.handle, issuer: { _ in bench.issuer }, in: .uid(1))
    }
    #expect(error?.upstreamCode == "logged_out")
    #expect(try await bench.left() == 0)
  }

  @Test("a refresh that is under way brings a session back that was logged out, or its tokens stay valid")
  func refreshMeanwhile() async throws {
    let bench = try Bench()
    let session = try await bench.session("alice", sid: "s-1")
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let refresh = Task { try await bench.engine.sessions.refresh(session.handle, at: bench.issuer, in: .uid(1)) }
    #expect(await eventually { gate.waiterCount == 1 })
    #expect(try await bench.end(sid: "s-1") == 1)
    gate.open()
    let error = await #expect(throws: SessionError.self) { try await refresh.value }
    #expect(error?.description.hasPrefix("session_not_found") == true)
    #expect(try await bench.left() == 0)
    #expect(await eventually { bench.revocations.contains { $0.contains("new-refresh") } })
  }

  @Test("a refresh without sid makes a later logout miss the session")
  func refreshWithoutLogin() async throws {
    let bench = try Bench()
    let session = try await bench.session("alice", sid: "s-1")
    bench.idToken.withLock { $0 = try? bench.idToken("alice", sid: nil) }
    let refreshed = try await bench.engine.sessions.refresh(session.handle, at: bench.issuer, in: .uid(1))
    #expect(refreshed.claims?["sub"] == "alice" && refreshed.claims?["sid"] == nil)
    #expect(try await bench.end(sid: "s-1") == 1)
  }

  @Test("the issuer gets a logout request for what it has ended by itself, or keeps tokens that are lost here")
  func revocation() async throws {
    let bench = try Bench()
    try await bench.session("alice", sid: "s-1")
    #expect(try await bench.end(sid: "s-1") == 1)
    #expect(await eventually { bench.revocations.count == 2 })
    #expect(bench.revocations.contains { $0.contains("refresh-s-1") })
    #expect(bench.revocations.contains { $0.contains("access-s-1") })
    #expect(bench.transport.requests(to: "https://idp.test/logout").isEmpty)
  }

  @Test("a logout that fails at the store ends a part for good, or its token is used up")
  func storeFails() async throws {
    let store = TroubledStore()
    let bench = try Bench(store: store)
    for number in 0..<40 { try await bench.session("alice", sid: "s-\(number)") }
    let claims = bench.tokens.claims([
      "nonce": nil, "jti": "l-1", "sub": "alice", "events": ["http://schemas.openid.net/event/backchannel-logout": [:]],
    ])
    let token = try CompactJWS.sign(claims: claims, with: bench.tokens.signers.p256, algorithm: .es256)
    func logout() async throws -> Int? {
      let expectations = LogoutTokenExpectations(clientID: "shop")
      let verdict = try await bench.engine.validators.logoutTokens.validate(
        token, expecting: expectations, configuration: bench.issuer.tokens, keys: bench.tokens.source)
      guard let claims = verdict.claims else { return nil }
      return try await bench.engine.endSessions(of: claims, expecting: expectations, at: bench.issuer)
    }
    store.failReads(true)
    await #expect(throws: SessionError.self) { try await logout() }
    store.failReads(false)
    #expect(bench.events.names.isEmpty)
    store.failRemovals(after: 35)
    await #expect(throws: SessionError.self) { try await logout() }
    store.failRemovals(after: nil)
    #expect(try await bench.left() == 5)
    #expect(try await logout() == 5)
    #expect(try await logout() == nil, "a token that has had its effect is used up")
  }

  @Test("another process with the same store uses a session for more than a second after its logout")
  func otherProcess() async throws {
    let bench = try Bench()
    let other = try Bench(alongside: bench)
    let session = try await bench.session("alice", sid: "s-1")
    _ = try await other.engine.sessions.session(session.handle, in: .uid(1))
    #expect(try await bench.end(sid: "s-1") == 1)
    bench.clock.advance(by: .seconds(1))
    await #expect(throws: SessionError.self) { try await other.engine.sessions.session(session.handle, in: .uid(1)) }
  }

  @Test("a cached verdict on a token of the user stays after the logout, or another user's goes")
  func verdicts() async throws {
    let bench = try Bench()
    let validate = { (token: String) async throws in
      try await bench.engine.validators.idTokens.validate(
        token, expecting: IDTokenExpectations(clientID: "shop", nonce: "n-1"), configuration: bench.issuer.tokens,
        keys: bench.tokens.source)
    }
    for subject in ["alice", "bob"] { _ = try await validate(bench.idToken(subject, sid: nil)) }
    #expect(bench.engine.validators.verdicts.count == 2)
    _ = try await bench.end(sub: "alice")
    #expect(bench.engine.validators.verdicts.count == 1)
  }

  @Test("a store that cannot be used keeps cached verdicts on a user's tokens in force after the logout")
  func forgetsWithoutStore() async throws {
    let store = TroubledStore()
    let bench = try Bench(store: store)
    let token = try bench.idToken("alice", sid: nil)
    _ = try await bench.engine.validators.idTokens.validate(
      token, expecting: IDTokenExpectations(clientID: "shop", nonce: "n-1"), configuration: bench.issuer.tokens,
      keys: bench.tokens.source)
    #expect(bench.engine.validators.verdicts.count == 1)
    store.failReads(true)
    await #expect(throws: SessionError.self) { try await bench.end(sub: "alice") }
    #expect(bench.engine.validators.verdicts.count == 0)
  }
}
