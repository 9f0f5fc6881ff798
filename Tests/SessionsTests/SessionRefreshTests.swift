import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// Refresh that never races, never loses a rotating token, and never logs anybody out by accident.
@Suite struct SessionRefreshTests {
  @Test("the token that is there is used until it counts as expired, then refreshed once with the newest refresh token")
  func lifetime() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    #expect(try await bench.token(session).value.reveal() == "a-1")
    bench.clock.advance(by: .seconds(200))
    #expect(try await bench.token(session).value.reveal() == "a-1")
    bench.clock.advance(by: .seconds(71))
    #expect(try await bench.token(session).value.reveal() == "a-2")
    #expect(bench.refreshes == ["r-0", "r-1"])
    #expect(bench.provider.withLock { $0.isReused } == false)
  }

  @Test("any number of callers whose token was rejected cause one refresh, also those that come late")
  func stampede() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let old = try await bench.token(session)
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let values = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<200 { group.addTask { try await bench.token(session, replacing: old).value.reveal() } }
      #expect(await eventually { gate.waiterCount == 1 })
      gate.open()
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(values == ["a-2"])
    #expect(try await bench.token(session, replacing: old).value.reveal() == "a-2")
    #expect(bench.refreshes.count == 2)
  }

  @Test("a rejection of the newest token refreshes again, once per token")
  func newestRejected() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let first = try await bench.token(session)
    let second = try await bench.token(session, replacing: first)
    let third = try await bench.token(session, replacing: second)
    #expect([first, second, third].map { $0.value.reveal() } == ["a-1", "a-2", "a-3"])
  }

  @Test("a caller that gives up loses neither the answer nor the rotated token")
  func cancelled() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let old = try await bench.token(session)
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let impatient = Task { try await bench.token(session, replacing: old) }
    #expect(await eventually { gate.waiterCount == 1 })
    impatient.cancel()
    await #expect(throws: SessionError.self) { try await impatient.value }
    gate.open()
    bench.gate.withLock { $0 = nil }
    #expect(try await bench.token(session, replacing: old).value.reveal() == "a-2")
    #expect(bench.refreshes == ["r-0", "r-1"])
  }

  @Test(
    "an outage keeps the session: a token that has not really expired is used instead, later the refresh works",
    arguments: [TransportError.Code.serverUnreachable, .networkUnreachable, .timedOut, .tlsFailure])
  func outage(code: TransportError.Code) async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    bench.clock.advance(by: .seconds(280))
    bench.provider.withLock { $0.failure = code }
    #expect(try await bench.token(session).value.reveal() == "a-1")
    bench.clock.advance(by: .seconds(30))
    await #expect(throws: SessionError.self) { try await bench.token(session) }
    bench.provider.withLock { $0.failure = nil }
    #expect(try await bench.token(session).value.reveal() == "a-2")
    #expect(bench.events.names == ["refreshed"])
  }

  @Test(
    "only invalid_grant ends a session's refreshes",
    arguments: [
      (400, "invalid_grant", true), (400, "invalid_client", false), (401, "invalid_client", false),
      (400, "temporarily_unavailable", false), (503, "invalid_grant", false), (429, "slow_down", false),
      (500, "server_error", false), (403, "access_denied", false),
    ])
  func rejections(status: Int, code: String, ends: Bool) async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let old = try await bench.token(session)
    bench.provider.withLock { $0.answers = [.json(#"{"error":"\#(code)"}"#, status: status)] }
    await #expect(throws: SessionError.self) { try await bench.token(session, replacing: old) }
    #expect(bench.events.names == (ends ? ["ended"] : []))
    if ends {
      await #expect(throws: SessionError.self) { try await bench.token(session, replacing: old) }
      #expect(bench.refreshes.count == 2, "a token that was rejected for good is not sent twice")
    } else {
      #expect(try await bench.token(session, replacing: old).value.reveal() == "a-2")
    }
  }

  @Test("a session that the issuer has ended goes on being used until its access token expires")
  func overAtOnce() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    // Nearly used up, so that it is refreshed; still valid for 20 s.
    bench.clock.advance(by: .seconds(280))
    bench.provider.withLock { $0.answers = [.json(#"{"error":"invalid_grant"}"#, status: 400)] }
    // A call during the request to the issuer may still get the token.
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { _ = try? await bench.token(session) } }
    }
    for _ in 0..<2 { #expect(await Self.isExpired { try await bench.token(session) }) }
    #expect(bench.events.names == ["ended"], "reported once, to all")
    #expect(bench.refreshes.count == 2)
    let shown = try await bench.sessions.session(session.handle, in: .uid(1))
    #expect(shown.accessTokenExpiresAt == nil && shown.expiresAt == bench.clock.wallNow)
    // Another process, or this one started again.
    let restarted = try SessionBench(store: bench.store, alongside: bench)
    #expect(await Self.isExpired { try await restarted.token(session) })
    let upstream = try await bench.sessions.end(session.handle, at: bench.issuer, in: .uid(1))
    #expect(upstream == UserSessions.UpstreamEnd.none)
    #expect(bench.events.names == ["ended"])
  }

  @Test("a token of another resource outlives the session that the issuer has ended")
  func everySlot() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    func narrow() async throws -> AccessToken {
      try await bench.sessions.token(
        TokenNeed(scope: "a", audience: "https://a.test"), of: session.handle, at: bench.issuer, in: .uid(1))
    }
    _ = try await narrow()
    bench.provider.withLock { $0.answers = [.json(#"{"error":"invalid_grant"}"#, status: 400)] }
    _ = try? await bench.sessions.refresh(session.handle, at: bench.issuer, in: .uid(1))
    #expect(await Self.isExpired { try await narrow() })
  }

  static func isExpired(_ body: () async throws -> AccessToken) async -> Bool {
    do {
      _ = try await body()
      return false
    } catch let error as SessionError {
      if case .expired = error.kind { return true }
      return false
    } catch {
      return false
    }
  }

  @Test("without a new refresh token the old one stays good (RFC 6749 section 6)")
  func kept() async throws {
    let bench = try SessionBench()
    bench.provider.withLock { $0.rotates = false }
    let session = try await bench.session()
    let first = try await bench.token(session)
    let second = try await bench.token(session, replacing: first)
    _ = try await bench.token(session, replacing: second)
    #expect(bench.refreshes == ["r-0", "r-0", "r-0"])
  }

  @Test("a token that is soon to expire is refreshed behind its user's back, who does not wait")
  func ahead() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    bench.clock.advance(by: .seconds(269))
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    #expect(try await bench.token(session).value.reveal() == "a-1")
    #expect(await eventually { gate.waiterCount == 1 })
    #expect(try await bench.token(session).value.reveal() == "a-1")
    gate.open()
    #expect(await eventually { bench.events.names == ["refreshed"] })
    #expect(try await bench.token(session).value.reveal() == "a-2")
    #expect(bench.refreshes.count == 2)
  }

  @Test("a session that is ended while it is refreshed stays ended: the new tokens are revoked")
  func endedMeanwhile() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let old = try await bench.token(session)
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let refresh = Task { try await bench.token(session, replacing: old) }
    #expect(await eventually { gate.waiterCount == 1 })
    let ending = Task { try await bench.sessions.end(session.handle, at: nil, in: .uid(1)) }
    #expect(try await ending.value == UserSessions.UpstreamEnd.none)
    gate.open()
    await #expect(throws: SessionError.self) { try await refresh.value }
    await #expect(throws: SessionError.self) { try await bench.sessions.session(session.handle, in: .uid(1)) }
    #expect(try await bench.store.count(in: .session) == 0)
  }

  @Test("a session is its creator's: another peer gets the same answer as for one that is not there")
  func foreign() async throws {
    let bench = try SessionBench()
    let session = try await bench.session(uid: 1)
    let unknown = try SessionHandle(String(repeating: "A", count: 43))
    for handle in [session.handle, unknown] {
      await #expect(throws: SessionError.self) { try await bench.sessions.session(handle, in: .uid(2)) }
    }
    #expect(try await bench.sessions.sessions(in: .uid(2)).isEmpty)
    await #expect(throws: SessionError.self) { try await bench.token(session, uid: 2) }
    await #expect(throws: SessionError.self) {
      try await bench.sessions.end(session.handle, at: bench.issuer, in: .uid(2))
    }
    #expect(try await bench.sessions.sessions(in: .uid(1)).count == 1)
  }

  @Test("a session belongs to its issuer and client, whatever the name means after a reload")
  func otherIssuer() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let other = SessionIssuer(
      issuer: try .testing(identifier: "https://other.test"), tokens: bench.issuer.tokens, keys: bench.issuer.keys)
    await #expect(throws: SessionError.self) {
      try await bench.sessions.token(of: session.handle, at: other, in: .uid(1))
    }
    #expect(bench.refreshes.count == 1)
  }

  @Test("a wall clock that is set back or forward neither revives nor kills a token in use")
  func clockStep() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    bench.clock.stepWall(by: .seconds(-86_400))
    #expect(try await bench.token(session).value.reveal() == "a-1")
    bench.clock.advance(by: .seconds(290))
    #expect(try await bench.token(session).value.reveal() == "a-2")
  }

  @Test("an issuer that returns the rejected token again gets no requests without end")
  func sameTokenAgain() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let old = try await bench.token(session)
    let same = HTTPResponse.token(old.value.reveal())
    bench.provider.withLock { $0.answers = Array(repeating: same, count: 20) }
    await #expect(throws: SessionError.self) { try await bench.token(session, replacing: old) }
    #expect(bench.refreshes.count <= 5)
  }

  @Test("an issuer whose tokens have expired on arrival gets no requests without end")
  func deadTokens() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    bench.clock.advance(by: .seconds(301))
    bench.provider.withLock { $0.answers = Array(repeating: .token("dead", expiresIn: 0), count: 20) }
    await #expect(throws: SessionError.self) { try await bench.token(session) }
    #expect(bench.refreshes.count <= 5)
  }

  @Test("a session that ends while it is being read stays ended")
  func endedWhileRead() async throws {
    let store = TroubledStore()
    let first = try SessionBench(store: store)
    let session = try await first.session()
    let second = try SessionBench(store: store, alongside: first)
    let gate = Gate()
    store.blockReads(at: gate)
    let reading = Task { try await second.sessions.session(session.handle, in: .uid(1)) }
    #expect(await eventually { gate.waiterCount == 1 })
    store.blockReads(at: nil)
    _ = try await second.sessions.end(session.handle, at: nil, in: .uid(1))
    gate.open()
    _ = try? await reading.value
    await #expect(throws: SessionError.self) { try await second.sessions.session(session.handle, in: .uid(1)) }
    await #expect(throws: SessionError.self) { try await second.token(session) }
  }

  @Test("while the issuer hangs a token that has not really expired is given out, after a moment at most")
  func hangingIssuer() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    bench.clock.advance(by: .seconds(280))
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let first = Task { try await bench.token(session) }
    #expect(await eventually { gate.waiterCount == 1 && bench.clock.sleeperCount == 1 })
    // A caller does not wait at all while a refresh is under way.
    #expect(try await bench.token(session).value.reveal() == "a-1")
    bench.clock.advance(by: .milliseconds(500))
    #expect(try await first.value.value.reveal() == "a-1")
    gate.open()
    #expect(await eventually { bench.events.names == ["refreshed"] })
    #expect(try await bench.token(session).value.reveal() == "a-2")
    #expect(bench.refreshes == ["r-0", "r-1"])
  }

  @Test("a caller who needs a longer lifetime does not get the token that another caller's refresh returned")
  func longerLife() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    bench.clock.advance(by: .seconds(200))
    let token = try await bench.sessions.token(
      TokenNeed(minimumLife: .seconds(200)), of: session.handle, at: bench.issuer, in: .uid(1))
    #expect(token.value.reveal() == "a-2")
    #expect(try await bench.token(session).value.reveal() == "a-2")
  }

  @Test("a busy issuer gets no request: for a second after its second error, then two, or for as long as it requires")
  func backoff() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let old = try await bench.token(session)
    let busy = HTTPResponse.status(429, ("Retry-After", "7"))
    bench.provider.withLock { $0.answers = [.status(503), .status(503), .status(500), busy] }
    func ask() async throws -> Duration? {
      do throws(SessionError) {
        _ = try await bench.token(session, replacing: old)
        return nil
      } catch {
        guard case .unreachable(let failure) = error.kind else { throw error }
        return failure.retryAfter ?? .zero
      }
    }
    #expect(try await ask() == .zero)
    #expect(try await ask() == .zero)
    #expect(try await ask() == .seconds(1) && bench.refreshes.count == 3)
    bench.clock.advance(by: .seconds(1))
    _ = try await ask()
    #expect(try await ask() == .seconds(2) && bench.refreshes.count == 4)
    bench.clock.advance(by: .seconds(2))
    _ = try await ask()
    #expect(try await ask() == .seconds(7) && bench.refreshes.count == 5)
    bench.clock.advance(by: .seconds(7))
    #expect(try await ask() == nil)
    #expect(bench.refreshes.count == 6)
  }

  @Test("tokens that come for a session that has ended meanwhile are revoked")
  func revokedForNoSession() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let old = try await bench.token(session)
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let refresh = Task { try await bench.token(session, replacing: old) }
    #expect(await eventually { gate.waiterCount == 1 })
    _ = try await bench.sessions.end(session.handle, at: nil, in: .uid(1))
    gate.open()
    await #expect(throws: SessionError.self) { try await refresh.value }
    #expect(await eventually { bench.transport.requests.contains { $0.url.path == "/revoke" } })
    let revoked = bench.transport.requests.last { $0.url.path == "/revoke" }
    let body = String(decoding: revoked?.body ?? [], as: UTF8.self)
    #expect(body.hasPrefix("token=r-2&"))
  }
}
