import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// Implicit access: a registered profile, logged in without its user, never with more than is configured.
@Suite struct ImplicitTests {
  private static func implicit(
    _ bench: GrantBench, _ issuer: SessionIssuer, profile: String = "user-1", uid: UInt32 = 1
  ) async throws(SessionError) -> Session {
    try await bench.sessions.create(from: .implicit(profile: profile), at: issuer, in: .uid(uid))
  }

  private static func access(
    _ bench: GrantBench, _ grant: ImplicitAccess.Grant, signs: Bool = true, scope: String? = "profile:read"
  ) throws -> ImplicitAccess {
    ImplicitAccess(
      grant: grant, scope: scope, signer: signs ? try AssertionSigner(key: bench.signers.p256, clock: bench.clock) : nil
    )
  }

  @Test("each grant states about the profile what its standard permits, and requests the lower scope")
  func forms() async throws {
    for grant in ImplicitAccess.Grant.allCases {
      let bench = try GrantBench()
      let issuer = try bench.issuer(implicit: Self.access(bench, grant))
      bench.answerTokens()
      try await bench.userSession(at: issuer)
      let session = try await Self.implicit(bench, issuer)
      #expect(session.kind == .implicit && session.subject == "user-1" && session.scope == "profile:read")
      #expect(session.claims == nil)
      let form = try #require(bench.sent().first)
      #expect(form["scope"] == "profile:read")
      switch grant {
      case .clientCredentials:
        #expect(form["grant_type"] == "client_credentials" && form.count == 2)
      case .jwtBearer, .tokenExchange:
        let text = try #require(form["assertion"] ?? form["subject_token"])
        let claims = try CompactJWS(text).unverifiedClaims()
        #expect(claims["iss"] == "shop" && claims["sub"] == "user-1" && claims["aud"] == "https://idp.test")
        #expect(claims["jti"] != nil)
        #expect(form["subject_token_type"] == (grant == .jwtBearer ? nil : "urn:ietf:params:oauth:token-type:jwt"))
      }
    }
  }

  @Test("without a key of the client the exchange shows the ID token of the user's last login")
  func idTokenAsSubject() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(implicit: Self.access(bench, .tokenExchange, signs: false))
    bench.answerTokens()
    try await bench.userSession(at: issuer)
    bench.clock.advance(by: .seconds(5))
    try await bench.userSession(at: issuer)
    _ = try await Self.implicit(bench, issuer)
    let form = try #require(bench.sent().last)
    #expect(form["subject_token"] == (try bench.sessionsIDToken()))
    #expect(form["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token")
  }

  @Test("a profile belongs to a uid, an issuer, a client and a subject; for everybody else there is none")
  func strangers() async throws {
    let bench = try GrantBench()
    let access = try Self.access(bench, .clientCredentials)
    let issuer = try bench.issuer(implicit: access)
    bench.answerTokens()
    try await bench.userSession(at: issuer)
    let other = try bench.issuer(implicit: access, identifier: "https://other.test")
    let otherClient = try bench.issuer(implicit: access, clientID: "till")
    for (at, subject, uid) in [
      (issuer, "user-2", 1), (issuer, "user-1", 2), (other, "user-1", 1), (otherClient, "user-1", 1), (issuer, "", 1),
    ] as [(SessionIssuer, String, UInt32)] {
      let fault = await GrantBench.fault { _ = try await Self.implicit(bench, at, profile: subject, uid: uid) }
      guard case .authorizationFailed? = fault?.kind else {
        Issue.record("\(subject) of \(uid): \(String(describing: fault))")
        continue
      }
      #expect(fault?.upstreamCode == "profile_unknown")
    }
    #expect(bench.sent().isEmpty, "no request was sent")
  }

  @Test(
    "only a login registers: not an expired ID token, and nothing where implicit access is not configured")
  func noProfile() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(implicit: Self.access(bench, .clientCredentials))
    bench.answerTokens()
    let old = try bench.idToken(life: 60)
    try await bench.userSession(at: bench.issuer())
    bench.clock.advance(by: .seconds(200))
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("given")
    given.idToken = old
    _ = try await bench.sessions.create(from: .tokens(given), at: issuer, in: .uid(1))
    #expect(try await bench.store.count(in: .profile) == 0)
    let fault = await GrantBench.fault { _ = try await Self.implicit(bench, issuer) }
    #expect(fault?.upstreamCode == "profile_unknown")
    let none = await GrantBench.fault { _ = try await Self.implicit(bench, bench.issuer()) }
    guard case .grantNotSupported? = none?.kind else {
      Issue.record("\(String(describing: none))")
      return
    }
  }

  @Test("one user with very many profiles leaves none for others, or one that is not registered is not reported")
  func profileLimit() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(implicit: Self.access(bench, .clientCredentials))
    bench.answerTokens()
    for number in 0..<10_000 {
      let key = RecordKey(collection: .profile, id: HashFunction.sha256.hash("test", of: ["\(number)"]))
      try await bench.store.insert(
        StoredRecord(
          key: key, uid: 1, version: 1, expiresAt: bench.clock.wallNow + .seconds(60), contents: Secret([])))
    }
    try await bench.userSession(at: issuer)
    #expect(bench.events.names == ["troubled"])
    #expect(try await bench.store.count(in: .profile) == 10_000)
    try await bench.userSession(at: issuer, uid: 2)
    _ = try await Self.implicit(bench, issuer, uid: 2)
    #expect(bench.events.names == ["troubled"])
  }

  @Test(
    "a profile that others write at the same time is written again, and reported when that fails, too",
    arguments: [2, 3])
  func profileConflicts(conflicts: Int) async throws {
    let store = TroubledStore()
    let bench = try GrantBench(store: store)
    let issuer = try bench.issuer(implicit: Self.access(bench, .clientCredentials))
    bench.answerTokens()
    store.failProfiles(conflicts)
    try await bench.userSession(at: issuer)
    #expect(bench.events.names == (conflicts == 3 ? ["troubled"] : []))
    #expect(try await store.count(in: .profile) == (conflicts == 3 ? 0 : 1))
  }

  @Test("a client that cannot authenticate logs no user in", arguments: ImplicitAccess.Grant.allCases)
  func publicClient(grant: ImplicitAccess.Grant) async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(
      implicit: Self.access(bench, grant, signs: grant == .clientCredentials), authentication: PublicClient())
    bench.answerTokens()
    try await bench.userSession(at: issuer)
    let fault = await GrantBench.fault { _ = try await Self.implicit(bench, issuer) }
    guard case .grantNotSupported? = fault?.kind else {
      Issue.record("\(String(describing: fault))")
      return
    }
    #expect(bench.sent().isEmpty)
  }

  @Test("the issuer gets no request where the store has no capacity, and a rejected login leaves nothing behind")
  func position() async throws {
    let store = TroubledStore()
    let bench = try GrantBench(store: store)
    let issuer = try bench.issuer(implicit: Self.access(bench, .jwtBearer))
    bench.answerTokens()
    try await bench.userSession(at: issuer)
    let before = try await store.records(in: .session, ownedBy: 1).count
    bench.answer("/token") { _, _ in .json(#"{"error":"access_denied"}"#, status: 403) }
    #expect(await GrantBench.fault { _ = try await Self.implicit(bench, issuer) } != nil)
    #expect(try await store.records(in: .session, ownedBy: 1).count == before)
    let requestCount = bench.sent().count
    store.failInsertions()
    #expect(await GrantBench.fault { _ = try await Self.implicit(bench, issuer) } != nil)
    #expect(bench.sent().count == requestCount)
  }

  @Test("the profile outlives its session and the process, and ends 90 days after the last login")
  func life() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(implicit: Self.access(bench, .clientCredentials))
    bench.answerTokens()
    let user = try await bench.userSession(at: issuer)
    _ = try await bench.sessions.end(user.handle, at: issuer, in: .uid(1))
    let session = try await Self.implicit(bench, issuer)
    #expect(session.expiresAt == bench.clock.wallNow + .seconds(90 * 86_400))
    bench.clock.advance(by: .seconds(80 * 86_400))
    try await bench.userSession(at: issuer)
    _ = try await bench.sessions.token(of: session.handle, at: issuer, in: .uid(1))
    bench.clock.advance(by: .seconds(80 * 86_400))
    _ = try await Self.implicit(bench, issuer)
    let token = try await bench.sessions.token(of: session.handle, at: issuer, in: .uid(1))
    #expect(token.value.reveal() == "a-4")
    bench.clock.advance(by: .seconds(11 * 86_400))
    let fault = await GrantBench.fault { _ = try await Self.implicit(bench, issuer) }
    #expect(fault?.upstreamCode == "profile_unknown")
    let ended = await GrantBench.fault {
      _ = try await bench.sessions.token(of: session.handle, at: issuer, in: .uid(1))
    }
    guard case .expired? = ended?.kind else {
      Issue.record("\(String(describing: ended))")
      return
    }
  }

  @Test("a token is refreshed by the grant again; a rejection ends the session, an outage does not")
  func refresh() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(implicit: Self.access(bench, .jwtBearer))
    bench.answerTokens()
    try await bench.userSession(at: issuer)
    let session = try await Self.implicit(bench, issuer)
    bench.clock.advance(by: .seconds(280))
    let second = try await bench.sessions.token(of: session.handle, at: issuer, in: .uid(1))
    #expect(second.value.reveal() == "a-2")
    #expect(bench.sent().map { $0["assertion"] != nil } == [true, true])
    #expect(bench.sent()[0]["assertion"] != bench.sent()[1]["assertion"], "an assertion is good once")
    bench.clock.advance(by: .seconds(400))
    bench.answer("/token") { _, _ throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")
    }
    let outage = await GrantBench.fault {
      _ = try await bench.sessions.token(of: session.handle, at: issuer, in: .uid(1))
    }
    guard case .unreachable? = outage?.kind else {
      Issue.record("\(String(describing: outage))")
      return
    }
    bench.answer("/token") { _, _ in .json(#"{"error":"invalid_grant"}"#, status: 400) }
    _ = await GrantBench.fault { _ = try await bench.sessions.token(of: session.handle, at: issuer, in: .uid(1)) }
    #expect(bench.events.names == ["refreshed", "ended"])
  }

  @Test("a refresh token goes first; rejected for good it is never presented again")
  func refreshTokenFirst() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(implicit: Self.access(bench, .tokenExchange))
    bench.answerTokens(more: #","refresh_token":"r-1""#)
    try await bench.userSession(at: issuer)
    let session = try await Self.implicit(bench, issuer)
    bench.answer("/token") { _, form in
      form["grant_type"] == "refresh_token" ? .json(#"{"error":"invalid_grant"}"#, status: 400) : .token("b-1")
    }
    for wait in [280, 280] {
      bench.clock.advance(by: .seconds(wait))
      #expect(try await bench.sessions.token(of: session.handle, at: issuer, in: .uid(1)).value.reveal() == "b-1")
      bench.answer("/token") { _, _ in .token("b-1") }
    }
    #expect(bench.sent().count { $0["grant_type"] == "refresh_token" } == 1)
  }

  @Test("no more than the configured scope is ever requested, whatever a resource needs")
  func reach() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(implicit: Self.access(bench, .clientCredentials, scope: "profile:read news"))
    bench.answerTokens(more: #","scope":"news""#)
    try await bench.userSession(at: issuer)
    let session = try await Self.implicit(bench, issuer)
    _ = try await bench.sessions.token(
      TokenNeed(scope: "profile:read"), of: session.handle, at: issuer, in: .uid(1))
    #expect(bench.sent().map { $0["scope"] } == ["profile:read news", "profile:read"])
    let fault = await GrantBench.fault {
      _ = try await bench.sessions.token(
        TokenNeed(scope: "orders"), of: session.handle, at: issuer, in: .uid(1))
    }
    #expect(fault?.upstreamCode == "insufficient_scope")
    #expect(bench.sent().count == 2)
  }

  @Test("a session ends when implicit access is configured lower, or not at all, though its token lives on")
  func changedTerms() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(implicit: Self.access(bench, .clientCredentials))
    bench.answerTokens()
    try await bench.userSession(at: issuer)
    let session = try await Self.implicit(bench, issuer)
    for changed in [
      try bench.issuer(), try bench.issuer(implicit: Self.access(bench, .clientCredentials, scope: "news")),
      try bench.issuer(implicit: Self.access(bench, .jwtBearer)),
    ] {
      let fault = await GrantBench.fault {
        _ = try await bench.sessions.token(of: session.handle, at: changed, in: .uid(1))
      }
      #expect(fault != nil)
    }
    #expect(try await bench.sessions.token(of: session.handle, at: issuer, in: .uid(1)).value.reveal() == "a-1")
  }

  @Test("a fetch reports what it lacks: 1001 without a session, 1002 for one of the other kind, 1003")
  func preconditions() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer(implicit: Self.access(bench, .clientCredentials))
    bench.answerTokens()
    let user = try await bench.userSession(at: issuer)
    let implicit = try await Self.implicit(bench, issuer)
    func code(_ kind: ResourceServer.Authentication, _ handle: SessionHandle?) async throws -> ErrorCode? {
      var options = FetchOptions(authentication: kind)
      options.session = handle.map {
        SessionRef(handle: $0, uid: 1, issuer: issuer, sessions: bench.sessions)
      }
      var server = try ResourceServer.testing(baseURL: "https://api.test/", issuer: issuer.issuer)
      server.scope = nil
      do throws(ResourceError) {
        _ = try await bench.fetcher.fetch(ResourceRequest(path: "news"), from: server, options: options)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(try await code(.implicit, implicit.handle) == nil)
    #expect(try await code(.user, user.handle) == nil)
    #expect(try await code(.implicit, user.handle) == .notImplicitlyAuthenticated)
    #expect(try await code(.user, implicit.handle) == .notAuthenticated)
    #expect(try await code(.implicit, nil) == .notAuthenticated)
    #expect(try await code(.user, nil) == .notAuthenticated)
    bench.answer("/token") { _, _ in .json(#"{"error":"invalid_client"}"#, status: 401) }
    #expect(try await code(.clientCredentials, nil) == .deviceNotAuthenticated)
  }
}

extension GrantBench {
  /// The ID token that a login would bring now.
  fileprivate func sessionsIDToken() throws -> String? {
    forms.withLock { $0.last?.form["subject_token"] }.flatMap { text in
      let claims = try? CompactJWS(text).unverifiedClaims()
      return claims?["iat"] == .integer(clock.wallNow.secondsSinceEpoch) ? text : nil
    }
  }
}
