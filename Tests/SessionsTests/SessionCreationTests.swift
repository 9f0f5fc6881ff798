import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// A grant is used only where its tokens can be stored, and callers that wait for it may leave.
@Suite struct SessionCreationTests {
  @Test("a store that accepts no write costs no grant: the issuer gets no request")
  func storeIsFull() async throws {
    let bench = try SessionBench(store: MemoryRecordStore(capacity: 0))
    await #expect(throws: SessionError.self) { try await bench.session() }
    #expect(bench.refreshes.isEmpty)
  }

  @Test("a grant that was rejected, or not answered, leaves nothing in the store")
  func nothingLeft() async throws {
    let bench = try SessionBench()
    bench.provider.withLock { $0.answers = [.json(#"{"error":"invalid_grant"}"#, status: 400), .status(503)] }
    for _ in 0..<2 { await #expect(throws: SessionError.self) { try await bench.session() } }
    #expect(try await bench.store.count(in: .session) == 0)
    #expect(try await bench.sessions.sessions(in: .uid(1)).isEmpty)
  }

  @Test("a session that the store does not take is kept, and listed once the store works again")
  func unsaved() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    store.failReplacements(4)
    let creation = Task { try await bench.session() }
    for _ in 0..<3 {
      #expect(await eventually { bench.clock.sleeperCount == 1 })
      bench.clock.advance(by: .seconds(1))
    }
    await #expect(throws: SessionError.self) { try await creation.value }
    let session = try #require(try await bench.sessions.sessions(in: .uid(1)).first)
    #expect(try await bench.token(session).value.reveal() == "a-1")
    #expect(bench.refreshes == ["r-0"])
  }

  @Test("a reservation for a session is no session: it cannot be read, listed or used")
  func reservationsAreNoSessions() async throws {
    let bench = try SessionBench()
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let creation = Task { try await bench.session() }
    #expect(await eventually { gate.waiterCount == 1 })
    #expect(try await bench.sessions.sessions(in: .uid(1)).isEmpty)
    gate.open()
    let session = try await creation.value
    #expect(try await bench.sessions.sessions(in: .uid(1)).map(\.handle) == [session.handle])
  }

  @Test(
    "a caller leaves at its deadline or when it is cancelled, the session is made all the same",
    arguments: [true, false])
  func waiterLeaves(isCancelled: Bool) async throws {
    let bench = try SessionBench()
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let creation = Task {
      try await bench.sessions.create(
        from: .refreshToken(Secret("r-0")), at: bench.issuer,
        in: .uid(1, by: Deadline(in: .seconds(1), on: bench.clock)))
    }
    #expect(await eventually { gate.waiterCount == 1 && bench.clock.sleeperCount == 1 })
    if isCancelled { creation.cancel() } else { bench.clock.advance(by: .seconds(1)) }
    let error = await #expect(throws: SessionError.self) { try await creation.value }
    switch error?.kind {
    case .cancelled: #expect(isCancelled)
    case .deadlineExceeded: #expect(!isCancelled)
    default: Issue.record("\(String(describing: error))")
    }
    gate.open()
    let end = ContinuousClock.now.advanced(by: .seconds(20))
    while try await bench.sessions.sessions(in: .uid(1)).isEmpty, ContinuousClock.now < end { await Task.yield() }
    #expect(try await bench.sessions.sessions(in: .uid(1)).count == 1)
  }

  @Test("callers who leave do not pile up work: so many logins of one uid are under way, others are not touched")
  func bounded() async throws {
    let bench = try SessionBench()
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let callers = (0..<256).map { _ in Task { try await bench.session() } }
    #expect(await eventually { gate.waiterCount == 256 })
    for caller in callers { caller.cancel() }
    for caller in callers { _ = try? await caller.value }
    let error = await #expect(throws: SessionError.self) { try await bench.session() }
    guard case .overloaded(let wait?)? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(wait == .seconds(1))
    let other = Task { try await bench.session(uid: 2) }
    #expect(await eventually { gate.waiterCount == 257 })
    gate.open()
    _ = try? await other.value
    bench.provider.withLock { $0.current = "fresh" }
    #expect(await eventually { bench.refreshes.count == 257 })
    // A slot is given back a moment after the issuer's response.
    let end = ContinuousClock.now.advanced(by: .seconds(20))
    var made = try? await bench.session()
    while made == nil, ContinuousClock.now < end {
      await Task.yield()
      made = try? await bench.session()
    }
    #expect(made != nil)
  }

  @Test("the issuer's scope is requested where the grant has none, and left out where the issuer rejects it")
  func issuersScope() async throws {
    let bench = try SessionBench(scope: "openid orders")
    bench.provider.withLock {
      $0.answers = [.token("a"), .json(#"{"error":"invalid_scope"}"#, status: 400), .token("b"), .token("c")]
    }
    func create(_ grant: SessionGrant) async throws -> Session {
      try await bench.sessions.create(from: grant, at: bench.issuer, in: .uid(1))
    }
    #expect(try await create(.jwtBearer(assertion: Secret("x"))).scope == "openid orders")
    let exchange = SessionGrant.tokenExchange(subjectToken: Secret("s"), subjectTokenType: nil, actorToken: nil)
    #expect(try await create(exchange).scope == nil, "the issuer's scope has been rejected")
    _ = try await create(.refreshToken(Secret("r-0")))
    let scopes = bench.transport.requests.map { request in
      FormEncoding.decode(String(decoding: request.body ?? [], as: UTF8.self))?.first { $0.name == "scope" }?.value
    }
    #expect(scopes == ["openid orders", "openid orders", nil, nil])
  }

  @Test(
    "all of a session's tokens are revoked at once and under one bound: an issuer that hangs costs half a minute in all"
  )
  func endInParallel() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    _ = try await bench.sessions.token(
      TokenNeed(audience: "https://api.test"), of: session.handle, at: bench.issuer, in: .uid(1))
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let ending = Task { try await bench.sessions.end(session.handle, at: bench.issuer, in: .uid(1)) }
    #expect(await eventually { gate.waiterCount == 3 && bench.clock.sleeperCount == 1 })
    gate.open()
    #expect(try await ending.value == .ended)
  }

  @Test("a session's revoked token is not given out again, nor used to refresh with")
  func revoked() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    #expect(try await bench.token(session).value.reveal() == "a-1")
    try await bench.sessions.revokeTokens(of: session.handle, at: bench.issuer, in: .uid(1))
    let error = await #expect(throws: SessionError.self) { try await bench.token(session) }
    guard case .expired? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(bench.refreshes == ["r-0"] && bench.events.names == ["ended"])
  }
}
