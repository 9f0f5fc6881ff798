import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@Suite("A fetch gets its token, retries once when it is rejected, and reports the outcome", .bothWays)
struct FetchTests {
  /// An issuer that counts its tokens, and a resource that accepts those that `accepts` names.
  private func engine(_ accepts: @escaping @Sendable (String) -> Bool) -> (Engine, Counter) {
    let tokens = Counter()
    let engine = Engine { request, _ in
      if request.url.path == "/token" { return .token("t\(tokens.next())") }
      let token = request.fields["Authorization"] ?? ""
      return accepts(token) ? HTTPResponse(status: 200, reason: "OK", body: Array("fine".utf8)) : .unauthorized
    }
    return (engine, tokens)
  }

  @Test("a device fetch requests a token once and uses it again")
  func cached() async throws {
    let (engine, _) = engine { $0 == "Bearer t1" }
    for _ in 0..<3 {
      let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing())
      #expect(response.status == 200 && response.reason == "OK" && response.body == Array("fine".utf8))
      #expect(response.attempts == 1 && !response.tokenRefreshed)
    }
    #expect(engine.tokenRequests.count == 1)
  }

  @Test("a resource that requires pins and has none gets a request, or costs one for a token")
  func pinsRequired() async throws {
    let (engine, _) = engine { _ in true }
    var server = try ResourceServer.testing()
    server.pinsRequired = true
    for kind in [ResourceServer.Authentication.clientCredentials, .none] {
      let options = FetchOptions(authentication: kind)
      do throws(ResourceError) {
        _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options)
        Issue.record("no error")
      } catch {
        #expect(error.code == .pinMismatch && error.outcome == .notSent && error.retryable == false)
      }
    }
    #expect(engine.transport.requests.isEmpty)
    server.access.tls.pins = try KeyPins(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], scope: .chain)
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    #expect(response.status == 200 && engine.transport.options.last?.access == server.access)
  }

  @Test("auth none neither requests nor sends a token")
  func anonymous() async throws {
    let (engine, _) = engine { $0.isEmpty }
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x"), from: .testing(),
      options: FetchOptions(authentication: ResourceServer.Authentication.none))
    #expect(response.status == 200 && engine.tokenRequests.isEmpty)
  }

  @Test(
    "a fetch of nobody ends as not authenticated, and nothing is sent",
    arguments: [ResourceServer.Authentication.user, .implicit])
  func nobody(_ kind: ResourceServer.Authentication) async throws {
    let (engine, _) = engine { _ in true }
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(
        ResourceRequest(path: "x"), from: .testing(), options: FetchOptions(authentication: kind))
    }
    #expect(error?.code == .notAuthenticated && error?.outcome == .notSent)
    #expect(engine.transport.requests.isEmpty)
  }

  @Test("a rejected token is refreshed once and the request is retried once")
  func refreshOnce() async throws {
    let (engine, _) = engine { $0 == "Bearer t2" }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing())
    #expect(response.status == 200 && response.attempts == 2 && response.tokenRefreshed)
    #expect(engine.tokenRequests.count == 2)
  }

  @Test("a second rejection is the result, and no token is refreshed again")
  func rejectedTwice() async throws {
    let (engine, _) = engine { _ in false }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing())
    #expect(response.status == 401 && response.attempts == 2)
    #expect(engine.tokenRequests.count == 2)
    #expect(engine.transport.requests(to: "https://api.test").count == 2)
  }

  @Test("when the refresh fails the unchanged rejection is the result")
  func refreshFails() async throws {
    let failures: [Result<HTTPResponse, TransportError>] = [
      .success(.json(#"{"error":"invalid_client"}"#, status: 401)), .success(.status(403)), .success(.status(500)),
      .success(.json("[]")), .failure(TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")),
    ]
    for failure in failures {
      let tokens = Counter()
      let engine = Engine { request, _ throws(TransportError) in
        if request.url.path == "/token" { return tokens.next() == 1 ? .token("t1") : try failure.get() }
        return .unauthorized
      }
      let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing())
      #expect(response.status == 401 && response.attempts == 1 && !response.tokenRefreshed)
      #expect(response.fields["WWW-Authenticate"] != nil)
    }
  }

  static let challenges: [([(String, String)], Int, Set<Int>?, Bool)] = [
    ([("WWW-Authenticate", "Bearer")], 401, nil, true),
    ([("WWW-Authenticate", "bEaReR realm=\"x\"")], 401, nil, true),
    ([("WWW-Authenticate", "Basic realm=\"x\", Bearer")], 401, nil, true),
    ([("WWW-Authenticate", "Basic realm=\"x\""), ("www-authenticate", "Bearer error=invalid_token")], 401, nil, true),
    ([("WWW-Authenticate", "Basic realm=\"Bearer\"")], 401, nil, false),
    ([("WWW-Authenticate", "Bearerish x=y")], 401, nil, false),
    ([("WWW-Authenticate", "Bearer error=\"insufficient_scope\", scope=\"admin\"")], 401, nil, false),
    ([("WWW-Authenticate", "Bearer error=\"insufficient_user_authentication\"")], 401, nil, false),
    ([], 401, nil, false),
    ([("WWW-Authenticate", "Bearer")], 403, nil, false),
    ([("WWW-Authenticate", "Bearer")], 419, nil, false),
    ([], 401, [401], true),
    ([], 419, [401, 419], true),
    ([("WWW-Authenticate", "Bearer")], 401, [419], false),
    ([("WWW-Authenticate", "Bearer")], 401, [], false),
  ]

  @Test("which answers refresh a token", arguments: challenges)
  func whenToRefresh(row: ([(String, String)], Int, Set<Int>?, Bool)) async throws {
    let tokens = Counter()
    let engine = Engine { request, _ in
      if request.url.path == "/token" { return .token("t\(tokens.next())") }
      return HTTPResponse(status: row.1, fields: HTTPFields(row.0.map { .init(name: $0.0, value: $0.1) }))
    }
    var server = try ResourceServer.testing()
    server.refreshOn = row.2
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    #expect(response.status == row.1)
    #expect(response.attempts == (row.3 ? 2 : 1))
    #expect(engine.tokenRequests.count == (row.3 ? 2 : 1))
  }

  @Test("two hundred fetches with an expired token make one token request")
  func oneRequestForAll() async throws {
    let gate = Gate()
    let tokens = Counter()
    let engine = Engine { request, _ in
      if request.url.path == "/token" {
        if tokens.current > 0 { await gate.pass() }
        return .token("t\(tokens.next())", expiresIn: 100)
      }
      return .status(200)
    }
    let server = try ResourceServer.testing()
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    engine.clock.advance(by: .seconds(90))
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<200 {
        group.addTask { try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server).status }
      }
      #expect(
        await eventually {
          engine.observer.events.count { if case .tokenCacheMiss = $0 { true } else { false } } == 201
            && gate.waiterCount == 1
        })
      gate.open()
      for try await status in group { #expect(status == 200) }
    }
    #expect(engine.tokenRequests.count == 2)
    #expect(
      engine.transport.requests(to: "https://api.test").suffix(200).allSatisfy {
        $0.fields["Authorization"] == "Bearer t2"
      })
  }

  @Test("two hundred fetches whose token is rejected at once refresh it once")
  func oneRefreshForAll() async throws {
    let (engine, _) = engine { $0 == "Bearer t2" }
    let server = try ResourceServer.testing()
    _ = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: .testing(), scope: "orders"))
    try await withThrowingTaskGroup(of: ResourceResponse.self) { group in
      for _ in 0..<200 {
        group.addTask { try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server) }
      }
      for try await response in group { #expect(response.status == 200) }
    }
    #expect(engine.tokenRequests.count == 2)
  }

  @Test("a late 401 of an older token is retried with the current one and refreshes no token")
  func lateRejection() async throws {
    let gate = Gate()
    let (tokens, waits) = (Counter(), Counter())
    let engine = Engine { request, _ in
      if request.url.path == "/token" { return .token("t\(tokens.next())") }
      guard request.fields["Authorization"] == "Bearer t1" else { return .status(200) }
      if request.url.path == "/base/late" {
        waits.next()
        await gate.pass()
      }
      return .unauthorized
    }
    let server = try ResourceServer.testing()
    let late = Task { try await engine.fetcher.fetch(ResourceRequest(path: "late"), from: server) }
    #expect(await eventually { gate.waiterCount == 1 })
    let prompt = try await engine.fetcher.fetch(ResourceRequest(path: "prompt"), from: server)
    #expect(prompt.status == 200 && tokens.current == 2)
    gate.open()
    let response = try await late.value
    #expect(response.status == 200 && response.attempts == 2 && waits.current == 1)
    #expect(tokens.current == 2, "the token was newer already")
  }

  @Test("cancelling the fetch that began the token request neither stops it nor the others")
  func cancelledFirst() async throws {
    let gate = Gate()
    let engine = Engine { request, _ in
      if request.url.path == "/token" {
        await gate.pass()
        return Task.isCancelled ? .status(500) : .token("t1")
      }
      return .status(200)
    }
    let server = try ResourceServer.testing()
    let first = Task { try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server) }
    #expect(await eventually { gate.waiterCount == 1 })
    let second = Task { try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server) }
    first.cancel()
    do {
      _ = try await first.value
      Issue.record("not cancelled")
    } catch {
      let error = try #require(error as? ResourceError)
      #expect(error.code == .requestCancelled && error.outcome == .notSent)
    }
    gate.open()
    #expect(try await second.value.status == 200)
    #expect(engine.tokenRequests.count == 1)
  }

  @Test("a fetch whose only waiter left still stores its token")
  func tokenIsNotLost() async throws {
    let gate = Gate()
    let engine = Engine { request, _ in
      if request.url.path == "/token" {
        await gate.pass()
        return .token("t1")
      }
      return .status(200)
    }
    let server = try ResourceServer.testing()
    let only = Task { try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server) }
    #expect(await eventually { gate.waiterCount == 1 })
    only.cancel()
    _ = try? await only.value
    gate.open()
    #expect(
      await eventually { engine.observer.events.contains { if case .tokenObtained = $0 { true } else { false } } })
    #expect(try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server).status == 200)
    #expect(engine.tokenRequests.count == 1)
  }

  @Test("the deadline also bounds the wait for a token, and reaches the transport")
  func deadline() async throws {
    let gate = Gate()
    let seen = Locked<[TransferOptions]>([])
    let engine = Engine { request, options in
      seen.withLock { $0.append(options) }
      if request.url.path == "/token" { await gate.pass() }
      return request.url.path == "/token" ? .token("t1") : .status(200)
    }
    var server = try ResourceServer.testing()
    server.timeout = .seconds(5)
    server.maxBodyBytes = 1234
    let task = Task { [server] in try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server) }
    #expect(await eventually { gate.waiterCount == 1 && engine.clock.sleeperCount == 1 })
    engine.clock.advance(by: .seconds(6))
    do {
      _ = try await task.value
      Issue.record("no deadline")
    } catch {
      let error = try #require(error as? ResourceError)
      #expect(error.code == .deadlineExceeded && error.outcome == .notSent && error.retryable == true)
    }
    gate.open()
    let started = engine.clock.monotonicNow
    _ = try await engine.fetcher.fetch(
      ResourceRequest(path: "x"), from: server, options: FetchOptions(timeout: .seconds(100_000)))
    let options = try #require(seen.withLock { $0.last })
    #expect(options.maxBodyBytes == 1234)
    #expect(options.deadline == Deadline(instant: started + ResourceServer.maxTimeout), "at most ten minutes")
    _ = try await engine.fetcher.fetch(
      ResourceRequest(path: "x"), from: server,
      options: FetchOptions(in: .uid(by: Deadline(in: .seconds(1), on: engine.clock))))
    #expect(seen.withLock { $0.last?.deadline } == Deadline(instant: started + .seconds(1)))
  }

  static let transportErrors: [(TransportError.Code, ErrorCode, Bool?, Bool?)] = [
    (.networkUnreachable, .networkUnreachable, true, false), (.serverUnreachable, .serverUnreachable, true, false),
    (.tlsFailure, .tlsFailure, false, false), (.pinMismatch, .pinMismatch, false, false),
    (.responseTooLarge, .responseTooLarge, false, false), (.protocolError, .protocolError, false, false),
    (.invalidURL, .invalidURL, false, false), (.timedOut, .deadlineExceeded, true, false),
    (.cancelled, .requestCancelled, nil, nil), (.internalError, .internalError, false, false),
  ]

  @Test("each transport fault has its code, and repeating is advised only when it is safe", arguments: transportErrors)
  func transport(row: (TransportError.Code, ErrorCode, Bool?, Bool?)) async throws {
    for (method, retryable) in [("GET", row.2), ("POST", row.3)] {
      let engine = Engine { _, _ throws(TransportError) in
        throw TransportError(code: row.0, outcome: .sentNoReply, detail: "detail")
      }
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(
          ResourceRequest(path: "x", method: method), from: .testing(authentication: .none))
      }
      #expect(error?.code == row.1 && error?.outcome == .sentNoReply && error?.retryable == retryable)
      #expect(engine.transport.requests.count == 1, "the engine never repeats by itself")
    }
  }

  @Test("timings of all exchanges are summed, the whole is measured")
  func timing() async throws {
    let clock = Locked<ManualClock?>(nil)
    let part = HTTPResponse.Timing(
      total: .seconds(9), queued: .milliseconds(1), connect: .milliseconds(2), firstByte: .milliseconds(3))
    let engine = Engine { request, _ in
      clock.withLock { $0 }?.advance(by: .milliseconds(10))
      var response: HTTPResponse = request.url.path == "/base/x" ? .status(302, ("Location", "y")) : .status(200)
      response.timing = part
      return response
    }
    clock.withLock { $0 = engine.clock }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing(authentication: .none))
    #expect(
      response.timing
        == HTTPResponse.Timing(
          total: .milliseconds(20), queued: .milliseconds(2), connect: .milliseconds(4), firstByte: .milliseconds(6)))
  }
}
