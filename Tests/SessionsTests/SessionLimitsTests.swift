import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

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

  private static func write(
    _ subject: String?, _ number: Int, _ bench: SessionBench, into store: any RecordStore
  ) async throws -> SessionHandle {
    let handle = SessionHandle.random()
    let createdAt = bench.clock.wallNow + .seconds(number)
    var contents = SessionContents(handle, at: bench.issuer, kind: .user, createdAt: createdAt)
    contents.user.subject = subject
    contents.grant.refreshToken = "r"
    try await store.insert(
      StoredRecord(key: handle.key, uid: 1, version: 1, expiresAt: nil, contents: try contents.storable()))
    return handle
  }

  @Test("a person with very many sessions keeps others from logging in, or others lose theirs for it")
  func onePerson() async throws {
    let bench = try SessionBench(maxBytesPerUid: 96 << 10)
    let others = [
      try await Self.write("bob", 0, bench, into: bench.store), try await Self.write(nil, 0, bench, into: bench.store),
    ]
    var alices: [SessionHandle] = []
    while try await bench.store.usage(of: 1).bytes < 83 << 10 {
      alices.append(try await Self.write("alice", alices.count, bench, into: bench.store))
    }
    for _ in 0..<4 { _ = try await bench.session() }
    let left = try await Self.left(bench)
    #expect(others.allSatisfy(left.contains) && left.count < alices.count)
    let kept = alices.filter(left.contains)
    #expect(kept.count >= 8 && kept == Array(alices.suffix(kept.count)), "the oldest ended")
    #expect(bench.events.names.contains("ended") && bench.events.names.contains("troubled"))
  }

  @Test("a live session ends while there are sessions that have expired, or a person is counted by those")
  func expiredFirst() async throws {
    let bench = try SessionBench(maxBytesPerUid: 96 << 10)
    func ended(_ handle: SessionHandle) throws -> StoredRecord {
      var contents = SessionContents(handle, at: bench.issuer, kind: .user, createdAt: bench.clock.wallNow)
      contents.user.subject = "alice"
      contents.life.expiresAt = bench.clock.wallNow.millisecondsSinceEpoch
      return StoredRecord(key: handle.key, uid: 1, version: 1, expiresAt: nil, contents: try contents.storable())
    }
    let live = [
      try await Self.write("alice", 0, bench, into: bench.store),
      try await Self.write("alice", 0, bench, into: bench.store),
    ]
    for _ in 0..<17 { try await bench.store.insert(ended(.random())) }
    var others: [SessionHandle] = []
    while try await bench.store.usage(of: 1).bytes < 82 << 10 {
      others.append(try await Self.write("bob", others.count, bench, into: bench.store))
    }
    for _ in 0..<12 { _ = try await bench.session() }
    let left = try await Self.left(bench)
    #expect(left.isSuperset(of: live) && left.isSuperset(of: others) && left.count < 2 + 17 + others.count + 12)
  }

  @Test("logins, ends and logouts are counted apart, and each issuer leaves room for others")
  func separateTasks() async throws {
    let bench = try SessionBench()
    let gate = Gate()
    let tasks = bench.sessions.tasks
    func begin(_ kind: UserTasks.Kind, at issuer: String = "corp") -> Task<Bool, Never> {
      Task {
        (try? await tasks.finish(kind, at: issuer, in: .uid(1)) { _ async throws(SessionError) in
          await gate.pass()
          return true
        }) ?? false
      }
    }
    var all: [Task<Bool, Never>] = []
    for kind in [UserTasks.Kind.login, .end, .logout] {
      let before = all.count
      all += (0..<256).map { _ in begin(kind) }
      #expect(await eventually { gate.waiterCount == before + 256 })
      #expect(await begin(kind).value == false)
      // An issuer that does not answer keeps out no other one.
      all += (0..<64).map { _ in begin(kind, at: "other") }
      #expect(await eventually { gate.waiterCount == before + 320 })
      #expect(await begin(kind, at: "other").value == false)
    }
    gate.open()
    for task in all { #expect(await task.value) }
  }

  /// The handles of uid 1.
  private static func left(_ bench: SessionBench) async throws -> Set<SessionHandle> {
    var left: Set<SessionHandle> = []
    try await bench.sessions.forEachSession(in: .uid(1)) { session, _ in
      left.insert(session.handle)
      return true
    }
    return left
  }

  private static func write(
    _ subject: String?, upTo bytes: Int, _ bench: SessionBench, people: Int = 1
  ) async throws -> [SessionHandle] {
    var handles: [SessionHandle] = []
    while try await bench.store.usage(of: 1).bytes < bytes {
      let subject = subject.map { "\($0)-\(handles.count % people)" }
      handles.append(try await write(subject, handles.count, bench, into: bench.store))
    }
    return handles
  }

  @Test("the oldest sessions of the issuer with the most end so that users of another issuer can log in")
  func issuers() async throws {
    let bench = try SessionBench(maxBytesPerUid: 96 << 10)
    let nameless = try await Self.write(nil, upTo: 83 << 10, bench)
    // Its own users cannot be told apart: none of them ends for another one.
    await #expect(throws: SessionError.self) { for _ in 0..<24 { _ = try await bench.session() } }
    #expect(try await Self.left(bench).isSuperset(of: nameless))
    let other = SessionIssuer(
      issuer: try Issuer(
        name: "other", identifier: "https://other.test", clientID: "app",
        clientAuthentication: ClientSecretBasic(secret: Secret("s")),
        endpoints: [.token: try HTTPURL("https://idp.test/token")]),
      tokens: IDTokenConfiguration(issuer: "https://other.test"), keys: StaticJWKSet(JWKSet([])))
    for _ in 0..<4 {
      _ = try await bench.sessions.create(
        from: .refreshToken(Secret(bench.provider.withLock { $0.current })), at: other, in: .uid(1))
    }
    let left = try await Self.left(bench)
    let kept = nameless.filter(left.contains)
    #expect(kept.count < nameless.count && kept == Array(nameless.suffix(kept.count)), "the oldest ended")
  }

  @Test("a session of a part of the program that may not end others ends none, expired ones excepted")
  func withoutTheRight() async throws {
    let bench = try SessionBench(maxBytesPerUid: 96 << 10)
    _ = try await Self.write("alice", upTo: 83 << 10, bench)
    var origin = LoginOrigin()
    origin.mayEndOthers = false
    let before = try await Self.left(bench)
    func create() async throws(SessionError) {
      let token = Secret(bench.provider.withLock { $0.current })
      _ = try await bench.sessions.create(from: .refreshToken(token), at: bench.issuer, origin: origin, in: .uid(1))
    }
    var error: SessionError?
    for _ in 0..<40 where error == nil {
      do throws(SessionError) { try await create() } catch let refused { error = refused }
    }
    guard case .overloaded? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try await Self.left(bench).isSuperset(of: before))
    origin.mayEndOthers = true
    for _ in 0..<8 { try await create() }
    #expect(try await !Self.left(bench).isSuperset(of: before))
  }

  @Test("a new session replaces no login in progress while it can make room otherwise, and never the one it completes")
  func loginsStay() async throws {
    let bench = try SessionBench(maxBytesPerUid: 96 << 10)
    let issuer = try bench.codeIssuer()
    func begin() async throws -> BegunAuthorization {
      try await bench.sessions.beginAuthorization(
        AuthorizationRequest(redirectURI: "https://app.test/cb"), at: issuer, in: .uid(1))
    }
    let first = try await begin()
    _ = try await Self.write("alice", upTo: 83 << 10, bench)
    for _ in 0..<24 { _ = try await bench.session() }
    // A login can always begin, and replaces no other one.
    _ = try await begin()
    let record = try await bench.store.record(for: PendingAuthorization.key(ofState: first.state))
    #expect(record != nil)
  }

  @Test("sessions of many people do not end so that others of their issuer can log in")
  func nobodyHasMany() async throws {
    let bench = try SessionBench(maxBytesPerUid: 64 << 10)
    let number = try await Self.write("user", upTo: 48 << 10, bench, people: 40).count
    for _ in 0..<3 { await #expect(throws: SessionError.self) { try await bench.session() } }
    #expect(try await bench.store.count(in: .session) == number)
    #expect(!bench.events.names.contains("ended"))
  }

  /// Would catch: a browser that is not logged in, and keeps everybody from logging in to a web application.
  @Test("a flood of logins that are not completed keeps others from logging in, of that uid or another one")
  func loginsInProgress() async throws {
    let bench = try SessionBench()
    func pending(_ number: Int) -> RecordKey {
      RecordKey(collection: .authorization, id: HashFunction.sha256.hash(Array("\(number)".utf8)))
    }
    func begin(uid: UInt32 = 1) async throws -> BegunAuthorization {
      try await bench.sessions.beginAuthorization(
        AuthorizationRequest(redirectURI: "https://app.test/cb"), at: bench.codeIssuer(), in: .uid(uid))
    }
    func complete(_ begun: BegunAuthorization, uid: UInt32 = 1) async throws -> Session {
      let issuer = try bench.codeIssuer()
      return try await bench.sessions.completeAuthorization(
        callback: "https://app.test/cb?code=c&state=\(begun.state)", state: begun.state,
        issuer: { _ in issuer }, in: .uid(uid))
    }
    let session = try await bench.session()
    bench.provider.withLock { provider in
      provider.answers = Array(
        repeating: .json(#"{"access_token":"a","token_type":"Bearer","expires_in":300}"#), count: 3)
    }
    let (early, others) = (try await begin(), try await begin(uid: 2))
    for number in 0..<9_998 {
      try await bench.store.insert(
        StoredRecord(
          key: pending(number), uid: 1, version: 1, expiresAt: bench.clock.wallNow + .seconds(600), contents: Secret([])
        ))
    }
    // One that was begun before the flood, and is among the 10,000 newest.
    bench.clock.advance(by: .seconds(300))
    let victim = try await begin()
    #expect(bench.events.names == [])
    let late = try await begin()
    #expect(bench.events.names == ["troubled"], "the operator is told")
    let error = await #expect(throws: SessionError.self) { try await complete(early) }
    guard case .stateUnknown? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.detail.contains("replaced by newer logins") == true)
    #expect(try await bench.store.count(in: .authorization) == 10_001)
    for _ in 0..<200 { _ = try await begin() }
    _ = try await complete(victim)
    _ = try await complete(late)
    _ = try await complete(others, uid: 2)
    #expect(try await bench.store.usage(of: 1).count(in: .session) == 3)
    _ = try await bench.token(session)
    // What has expired goes first.
    bench.clock.advance(by: .seconds(301))
    for _ in 0..<4 { _ = try await begin() }
    while try await bench.store.purge(expiredAt: bench.clock.wallNow) > 0 {}
    #expect(try await bench.store.count(in: .authorization) == 204)
  }

  @Test("logins in progress take the bytes that their own completion needs")
  func bytesOfLogins() async throws {
    let bench = try SessionBench(maxBytesPerUid: 64 << 10)
    for number in 0..<1000 {
      _ = try await bench.sessions.beginAuthorization(
        AuthorizationRequest(redirectURI: "https://app.test/\(number)"), at: bench.codeIssuer(), in: .uid(1))
    }
    let usage = try await bench.store.usage(of: 1)
    #expect(usage.bytes <= 64 << 10 && usage.count(in: .authorization) > 20)
    for _ in 0..<10 { _ = try await bench.session() }
    #expect(try await bench.store.usage(of: 1).count(in: .session) == 10)
    #expect(try await bench.store.usage(of: 1).bytes <= 64 << 10)
  }

  @Test("a call for the only session reads all of them once, and sees what began or ended since")
  func choice() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    func only() async throws -> SessionHandle? {
      try await bench.sessions.onlySession(of: .user, at: "corp", in: .uid(1))
    }
    #expect(try await only() == nil)
    let first = try await bench.session()
    #expect(try await only() == first.handle)
    let read = store.listings
    for _ in 0..<10 { #expect(try await only() == first.handle) }
    #expect(store.listings == read)
    let second = try await bench.session()
    await #expect(throws: SessionError.self) { try await only() }
    _ = try await bench.sessions.end(first.handle, at: nil, in: .uid(1))
    #expect(try await only() == second.handle)
    try await bench.sessions.revokeTokens(of: second.handle, at: bench.issuer, in: .uid(1))
    #expect(try await only() == nil, "a session without tokens is not live")
    let third = try await bench.session()
    #expect(try await only() == third.handle)
    #expect(try await bench.sessions.onlySession(of: .user, at: "corp", in: .uid(2)) == nil)
  }

  @Test("another user's login does not keep the only session from being cached, the user's own does")
  func choiceWhileOthersLogIn() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    func login(_ uid: UInt32) async throws -> SessionHandle {
      var given = SessionGrant.GivenTokens()
      given.accessToken = Secret("given")
      given.expiresIn = 6000
      return try await bench.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(uid)).handle
    }
    func only() async throws -> SessionHandle? {
      try await bench.sessions.onlySession(of: .user, at: "corp", in: .uid(1))
    }
    let first = try await login(1)
    for (other, isCached) in [(2, true), (1, false)] as [(UInt32, Bool)] {
      let gate = Gate()
      store.holdListings(at: gate)
      let reading = Task { try await bench.sessions.onlySession(of: .user, at: "corp", in: .uid(1)) }
      #expect(await eventually { gate.waiterCount == 1 })
      _ = try await login(other)
      gate.open()
      _ = await reading.result
      store.holdListings(at: nil)
      let read = store.listings
      if isCached {
        #expect(try await only() == first)
      } else {
        await #expect(throws: SessionError.self) { try await only() }
      }
      #expect((store.listings == read) == isCached)
      let passing = try await login(1)
      _ = try await bench.sessions.end(passing, at: nil, in: .uid(1))
    }
  }

  @Test("a session that expires leaves the other one as the only one")
  func expiry() async throws {
    let bench = try SessionBench()
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("short")
    given.expiresIn = 60
    let short = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(1))
    let long = try await bench.session()
    await #expect(throws: SessionError.self) {
      try await bench.sessions.onlySession(of: .user, at: "corp", in: .uid(1))
    }
    bench.clock.advance(by: .seconds(61))
    #expect(try await bench.sessions.onlySession(of: .user, at: "corp", in: .uid(1)) == long.handle)
    #expect(short.handle != long.handle)
  }

  @Test("where others share the store the only session is cached for a moment")
  func shared() async throws {
    let first = try SessionBench()
    let second = try SessionBench(alongside: first)
    #expect(try await second.sessions.onlySession(of: .user, at: "corp", in: .uid(1)) == nil)
    let session = try await first.session()
    second.clock.advance(by: .seconds(2))
    #expect(try await second.sessions.onlySession(of: .user, at: "corp", in: .uid(1)) == session.handle)
  }

  @Test("a refresh that grants less is what the session has from then on")
  func narrowed() async throws {
    let bench = try SessionBench(scope: "openid orders")
    let session = try await bench.session()
    bench.provider.withLock {
      $0.answers = [.json(#"{"access_token":"n","token_type":"Bearer","expires_in":300,"scope":"orders"}"#)]
    }
    let refreshed = try await bench.sessions.refresh(session.handle, at: bench.issuer, in: .uid(1))
    #expect(refreshed.scope == "orders")
    #expect(try await bench.token(session).scope == "orders")
  }

  @Test("a token that lacks a scope is used, no token request is sent, and a rejected one is refreshed without it")
  func lackingScope() async throws {
    let bench = try SessionBench()
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("given")
    given.expiresIn = 600
    given.scope = "openid"
    let alone = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(1))
    given.refreshToken = Secret("r-0")
    let refreshable = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(1))
    func token(
      _ session: Session, mayLackScope: Bool = true, replacing rejected: AccessToken? = nil
    ) async throws(SessionError) -> AccessToken {
      try await bench.sessions.token(
        TokenNeed(scope: "orders", mayLackScope: mayLackScope, rejected: rejected), of: session.handle,
        at: bench.issuer,
        in: .uid(1))
    }
    #expect(try await token(alone).value.reveal() == "given")
    let used = try await token(refreshable)
    #expect(used.value.reveal() == "given" && used.scope == "openid" && bench.refreshes.isEmpty)
    let next = try await token(refreshable, replacing: used)
    #expect(next.value.reveal() == "a-1" && next.scope == "openid")
    let requests = {
      bench.transport.requests(to: "https://idp.test/token").map { String(decoding: $0.body ?? [], as: UTF8.self) }
    }
    #expect(requests().count == 1 && !requests()[0].contains("scope="))
    // Who wants a token of that scope, and no other, asks for it.
    await #expect(throws: SessionError.self) { try await token(alone, mayLackScope: false) }
    _ = try await token(refreshable, mayLackScope: false)
    #expect(requests().last?.contains("scope=orders") == true)
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
    #expect(try await other.sessions.sessions(in: .uid(1)).isEmpty)
    #expect(other.events.names == ["troubled"])
    #expect(try await other.sessions.end(session.handle, at: nil, in: .uid(1)) == UserSessions.UpstreamEnd.none)
    #expect(try await bench.store.count(in: .session) == 0)
  }
}
