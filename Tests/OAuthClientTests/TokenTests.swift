import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient

@Suite("Client credentials tokens")
struct TokenTests {
  private func grant(
    _ authentication: any ClientAuthentication = ClientSecretBasic(secret: Secret("s")), clientID: String = "svc",
    scope: String? = "orders", audience: String? = nil
  ) throws -> ClientCredentialsGrant {
    try ClientCredentialsGrant(
      issuer: .testing(clientID: clientID, authentication: authentication), scope: scope, audience: audience)
  }

  private func sent(_ grant: ClientCredentialsGrant) async throws -> (HTTPRequest, body: String) {
    let engine = Engine { _, _ in .token("t") }
    _ = try await engine.tokens.token(for: grant)
    let request = try #require(engine.transport.requests.first)
    return (request, String(decoding: request.body ?? [], as: UTF8.self))
  }

  @Test("each client authentication follows its RFC section, credentials form-encoded before base64")
  func authentication() async throws {
    let secret = Secret("p@ss:w%rd +é")
    let (basic, basicBody) = try await sent(grant(ClientSecretBasic(secret: secret), clientID: "my client:1"))
    let credentials = "my+client%3A1:p%40ss%3Aw%25rd+%2B%C3%A9"
    #expect(basic.fields["Authorization"] == "Basic \(Base64.string(Array(credentials.utf8)))")
    #expect(basicBody == "grant_type=client_credentials&scope=orders")
    #expect(basic.method == "POST" && basic.url.description == "https://idp.test/token")
    #expect(basic.fields["Content-Type"] == "application/x-www-form-urlencoded")
    #expect(basic.fields["Accept"] == "application/json" && basic.fields["User-Agent"] == "postern/test")
    let (post, postBody) = try await sent(grant(ClientSecretPost(secret: secret), clientID: "my client"))
    #expect(post.fields["Authorization"] == nil)
    #expect(
      postBody
        == "grant_type=client_credentials&scope=orders&client_id=my+client&client_secret=p%40ss%3Aw%25rd+%2B%C3%A9")
    let (none, noneBody) = try await sent(grant(PublicClient(), scope: nil))
    #expect(none.fields["Authorization"] == nil)
    #expect(noneBody == "grant_type=client_credentials&client_id=svc")
  }

  @Test(
    "an audience that is an absolute URI goes as resource and audience, any other as audience alone",
    arguments: [
      ("https://api.test/x", true), ("urn:example:api", true), ("api", false), ("api.test/x", false),
      ("https://api.test/x#f", false), ("1a:b", false), (":b", false), ("a:", false), ("a b:c", false), ("ü:x", false),
    ])
  func audience(text: String, isResource: Bool) async throws {
    let (_, body) = try await sent(grant(audience: text))
    let encoded = FormEncoding.encode(text)
    #expect(
      body == "grant_type=client_credentials&scope=orders"
        + (isResource ? "&resource=\(encoded)" : "") + "&audience=\(encoded)")
  }

  @Test("tokens are cached by issuer, client, secret, scope and audience")
  func cacheKey() async throws {
    let counter = Counter()
    let engine = Engine { _, _ in .token("t\(counter.next())") }
    let grants = [
      try grant(), try grant(scope: "other"), try grant(scope: nil), try grant(audience: "a"),
      try grant(clientID: "other"),
      try grant(ClientSecretPost(secret: Secret("s"))), try grant(ClientSecretBasic(secret: Secret("rotated"))),
      ClientCredentialsGrant(issuer: try .testing(identifier: "https://idp.test/2"), scope: "orders"),
    ]
    #expect(Set(grants).count == grants.count)
    for _ in 0..<2 {
      for (position, grant) in grants.enumerated() {
        #expect(try await engine.tokens.token(for: grant).value == Secret("t\(position + 1)"))
      }
    }
    #expect(engine.transport.requests.count == grants.count)
  }

  @Test(
    "a token has the scope that was granted; granted less or more, it serves no grant of that scope",
    arguments: [(nil, "a b"), ("a", "a"), ("a b admin", "a b admin"), ("b a", "b a")])
  func scope(given: String?, reported: String) async throws {
    let counter = Counter()
    let engine = Engine { request, _ in
      let more = given.map { #","scope":"\#($0)""# } ?? ""
      return .json(#"{"access_token":"t\#(counter.next())","token_type":"Bearer"\#(more)}"#)
    }
    let token = try await engine.tokens.token(for: grant(scope: "a b"))
    #expect(token.scope == reported)
    #expect(try await engine.tokens.token(for: grant(scope: "a b")).value == token.value)
    for other in ["a", "a b admin", nil] {
      #expect(try await engine.tokens.token(for: grant(scope: other)).value != token.value)
    }
  }

  static let lifetimes: [(String, Int)] = [
    ("300", 270), ("60", 54), ("1000", 970), ("10", 9), ("\"300\"", 270), ("300.9", 270), ("null", 270),
  ]

  @Test("a token counts as expired min(30 s, a tenth of its life) early", arguments: lifetimes)
  func margin(expiresIn: String, seconds: Int) async throws {
    let engine = Engine { _, _ in .json(#"{"access_token":"t","token_type":"bearer","expires_in":\#(expiresIn)}"#) }
    let token = try await engine.tokens.token(for: grant())
    #expect(token.expiresAt > engine.clock.wallNow)
    engine.clock.advance(by: .seconds(seconds) - .milliseconds(1))
    _ = try await engine.tokens.token(for: grant())
    #expect(engine.transport.requests.count == 1)
    engine.clock.advance(by: .milliseconds(1))
    _ = try await engine.tokens.token(for: grant())
    #expect(engine.transport.requests.count == 2)
  }

  @Test("without expires_in a token lives five minutes, with zero it serves the waiting callers and no others")
  func noLifetime() async throws {
    let engine = Engine { _, _ in .json(#"{"access_token":"t","token_type":"Bearer"}"#) }
    let token = try await engine.tokens.token(for: grant())
    #expect(token.expiry - engine.clock.monotonicNow == .seconds(300))
    let zero = Engine { _, _ in .token("t", expiresIn: 0) }
    _ = try await zero.tokens.token(for: grant())
    _ = try await zero.tokens.token(for: grant())
    #expect(zero.transport.requests.count == 2)
  }

  @Test("expiry counts from before the request was sent, and steps of the wall clock do not matter")
  func slowAnswer() async throws {
    let clock = Locked<ManualClock?>(nil)
    let engine = Engine { _, _ in
      clock.withLock { $0 }?.advance(by: .seconds(20))
      return .token("t", expiresIn: 100)
    }
    clock.withLock { $0 = engine.clock }
    let started = engine.clock.monotonicNow
    let token = try await engine.tokens.token(for: grant())
    #expect(token.expiry == started + .seconds(100))
    #expect(token.expiresAt == engine.clock.wallNow + .seconds(80))
    engine.clock.stepWall(by: .seconds(1_000_000))
    _ = try await engine.tokens.token(for: grant())
    #expect(engine.transport.requests.count == 1)
  }

  static let malformed: [String] = [
    "", "<html>", "[]", "{}", "null", #"{"access_token":"t"}"#, #"{"access_token":1,"token_type":"Bearer"}"#,
    #"{"access_token":"","token_type":"Bearer"}"#, #"{"access_token":"a b","token_type":"Bearer"}"#,
    #"{"access_token":"a\r\nX: y","token_type":"Bearer"}"#, #"{"access_token":"é","token_type":"Bearer"}"#,
    #"{"access_token":"a\u0000b","token_type":"Bearer"}"#, #"{"access_token":"t","token_type":"mac"}"#,
    #"{"access_token":"t","token_type":"DPoP"}"#,
    #"{"access_token":"t","access_token":"u","token_type":"Bearer"}"#,
    #"{"access_token":"\#(String(repeating: "a", count: 20_000))","token_type":"Bearer"}"#,
    #"{"access_token":"t","token_type":"Bearer"} trailing"#,
  ]

  @Test("an answer that is no token response is rejected, and nothing of it is kept or quoted", arguments: malformed)
  func rejectsMalformed(body: String) async throws {
    let engine = Engine { _, _ in .json(body) }
    let error = await #expect(throws: TokenError.self) { try await engine.tokens.token(for: grant()) }
    guard case .malformed = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.status == 200)
    _ = try? await engine.tokens.token(for: grant())
    #expect(engine.transport.requests.count == 1, "such an answer is not asked for again at once")
    engine.clock.advance(by: .seconds(1))
    _ = try? await engine.tokens.token(for: grant())
    #expect(engine.transport.requests.count == 2, "nothing was cached")
  }

  /// Members that servers send, and that say nothing.
  static let unneeded: [String] = [
    #""expires_in":-1"#, #""expires_in":"soon""#, #""expires_in":[1]"#, #""expires_in":null"#, #""expires_in":"""#,
    #""scope":null"#, #""scope":[]"#, #""scope":{"a":1}"#, #""refresh_token":null"#, #""refresh_token":"""#,
    #""refresh_token":1"#, #""refresh_token":"\#(String(repeating: "r", count: 20_000))""#, #""id_token":"""#,
    #""id_token":null"#, #""id_token":{}"#, #""issued_token_type":1"#, #""error":"""#, #""error":null"#,
    #""error":"none","error_description":"""#,
  ]

  @Test("members that are not needed decide nothing, with any 2xx", arguments: unneeded, [200, 201, 203])
  func takesUnneeded(member: String, status: Int) async throws {
    let answer = HTTPResponse.json(#"{"access_token":"t","token_type":"bearer",\#(member)}"#, status: status)
    let response = try TokenResponse(answer)
    #expect(response.accessToken == "t" && response.refreshToken == nil && response.idToken == nil)
    #expect(response.lifetime == TokenResponse.defaultLifetime)
  }

  @Test("numbers of a device authorization may be texts, and an empty address gives way to Google's name for it")
  func readsDevices() throws {
    func read(_ members: String) throws -> DeviceAuthorization {
      try DeviceAuthorization(
        .json(#"{"device_code":"d","user_code":"u",\#(members)}"#, status: 201))
    }
    for empty in ["null", #""""#, "1"] {
      let read = try read(#""verification_uri":\#(empty),"verification_url":"https://a.test/d","expires_in":"900""#)
      #expect(read.verificationURI == "https://a.test/d" && read.life == .seconds(900))
    }
    let bare = try read(#""verification_uri":"https://a.test/d","interval":"10","expires_in":null"#)
    #expect(bare.interval == .seconds(10) && bare.life == .seconds(900) && bare.verificationURIComplete == nil)
    #expect(throws: TokenError.self) { try read(#""verification_uri":"""#) }
  }

  /// Errors with their status, and whether the same request may succeed later.
  static let errors: [(status: Int, code: String, isTemporary: Bool)] = [
    (200, "invalid_grant", false), (200, "slow_down", true), (201, "invalid_client", false),
    (302, "invalid_grant", false),
    (400, "temporarily_unavailable", true), (400, "server_error", true), (429, "slow_down", true),
    (400, "invalid_grant", false), (503, "invalid_grant", true), (408, "", true), (425, "", true), (429, "", true),
    (401, "", false),
  ]

  @Test(
    "an error is one with any status; what is temporary is decided by its code, then by the status", arguments: errors)
  func readsErrors(status: Int, code: String, isTemporary: Bool) throws {
    let body = code.isEmpty ? "" : #"{"error":"\#(code)","access_token":null}"#
    let error = #expect(throws: TokenError.self) { try TokenResponse(HTTPResponse.json(body, status: status)) }
    #expect(error?.isRetryable == isTemporary && error?.status == status)
    #expect(error?.oauthError?.code == (code.isEmpty ? nil : code))
  }

  @Test("huge lives overflow nothing", arguments: ["9223372036854775807", "1e300", "\"999999999999999999\""])
  func hugeLife(expiresIn: String) async throws {
    let engine = Engine { _, _ in .json(#"{"access_token":"t","token_type":"Bearer","expires_in":\#(expiresIn)}"#) }
    let token = try await engine.tokens.token(for: grant())
    #expect(token.expiry - engine.clock.monotonicNow == .seconds(366 * 86_400))
  }

  static let answers: [(HTTPResponse, ErrorCode, UpstreamFault?, Bool?)] = [
    (
      .json(#"{"error":"invalid_client","error_description":"no such\u0007 client"}"#, status: 401),
      .deviceNotAuthenticated, .init(status: 401, code: "invalid_client", description: "no such client"), false
    ),
    (
      .json(#"{"error":"invalid_scope"}"#, status: 400), .deviceNotAuthenticated,
      .init(status: 400, code: "invalid_scope"), false
    ),
    (.status(403), .deviceNotAuthenticated, .init(status: 403), false),
    (.json("<html>", status: 404), .deviceNotAuthenticated, .init(status: 404), false),
    (.status(503), .deviceNotAuthenticated, .init(status: 503), true),
    (
      .json(#"{"error":"temporarily_unavailable"}"#, status: 503), .deviceNotAuthenticated,
      .init(status: 503, code: "temporarily_unavailable"), true
    ),
    (.status(429, ("Retry-After", "7")), .deviceNotAuthenticated, .init(status: 429), true),
    (
      .status(302, ("Location", "https://evil.test/")), .deviceNotAuthenticated,
      .init(status: 302, code: "invalid_token_response"), false
    ),
    (.json("[]"), .deviceNotAuthenticated, .init(status: 200, code: "invalid_token_response"), false),
  ]

  @Test("the token endpoint's answer is reported, without its secrets", arguments: answers)
  func faults(row: (HTTPResponse, ErrorCode, UpstreamFault?, Bool?)) async throws {
    let engine = Engine { _, _ in row.0 }
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing())
    }
    #expect(error?.code == row.1)
    #expect(error?.upstream == row.2)
    #expect(error?.retryable == row.3)
    #expect(error?.outcome == .notSent, "nothing went to the resource")
    #expect(error.map { "\($0)\(String(reflecting: $0))".contains("svcsecret") } == false)
    #expect(engine.transport.requests.count == 1, "a redirect of the token endpoint is not followed")
  }

  @Test(
    "an issuer that cannot be reached is reported as such",
    arguments: [
      (TransportError.Code.serverUnreachable, ErrorCode.serverUnreachable, true),
      (.networkUnreachable, .networkUnreachable, true), (.timedOut, .serverUnreachable, true),
      (.tlsFailure, .tlsFailure, false), (.protocolError, .protocolError, true),
    ])
  func unreachable(row: (TransportError.Code, ErrorCode, Bool)) async throws {
    let engine = Engine { _, _ throws(TransportError) in
      throw TransportError(code: row.0, outcome: .sentNoReply, detail: "")
    }
    for endpoints in [[ProviderEndpoint.token: "https://idp.test/token"], [:]] {
      let server = try ResourceServer.testing(issuer: .testing(endpoints: endpoints))
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
      }
      // A token endpoint whose response broke off exists; where the metadata is requested, something else may listen.
      let isRetryable = row.2 && (row.0 != .protocolError || !endpoints.isEmpty)
      #expect(error?.code == row.1 && error?.outcome == .notSent && error?.retryable == isRetryable)
      #expect(error?.detail.contains("corp") == true)
    }
    #expect(engine.transport.requests.count == 2)
  }

  @Test("rejected credentials are not tried again for 1 s, 2 s, … 30 s; a success or another secret ends that")
  func backoff() async throws {
    let (attempts, works) = (Counter(), Locked(false))
    let engine = Engine { _, _ in
      attempts.next()
      return works.withLock { $0 } ? .token("t") : .status(403)
    }
    for (attempt, pause) in [1, 2, 4, 8, 16, 30, 30].enumerated() {
      for elapsed in [Duration.zero, .seconds(pause) - .milliseconds(1)] {
        engine.clock.advance(by: elapsed)
        let error = await #expect(throws: TokenError.self) { try await engine.tokens.token(for: grant()) }
        #expect(error?.status == 403)
        #expect(error?.retryAfter == .seconds(pause) - elapsed)
      }
      #expect(attempts.current == attempt + 1)
      engine.clock.advance(by: .milliseconds(1))
    }
    _ = try? await engine.tokens.token(for: grant())
    let before = attempts.current
    works.withLock { $0 = true }
    _ = try await engine.tokens.token(for: grant(ClientSecretBasic(secret: Secret("corrected"))))
    #expect(attempts.current == before + 1, "a corrected secret is tried at once")
    engine.clock.advance(by: .seconds(30))
    _ = try await engine.tokens.token(for: grant())
    #expect(attempts.current == before + 2)
  }

  @Test("a busy issuer's Retry-After is observed; one that is down gets a request again at once")
  func otherPauses() async throws {
    let busy = Engine { _, _ in .status(503, ("Retry-After", "7")) }
    for _ in 0..<3 { _ = try? await busy.tokens.token(for: grant()) }
    #expect(busy.transport.requests.count == 1)
    busy.clock.advance(by: .seconds(7))
    _ = try? await busy.tokens.token(for: grant())
    #expect(busy.transport.requests.count == 2)
    for answer in [
      HTTPResponse.status(500), .status(503, ("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")),
    ] {
      let broken = Engine { _, _ in answer }
      for _ in 0..<3 { _ = try? await broken.tokens.token(for: grant()) }
      #expect(broken.transport.requests.count == 3)
    }
  }

  @Test("one user has a token that all use replaced without end, or leaves another none of the replacements")
  func replacements() async throws {
    let counter = Counter()
    let engine = Engine { _, _ in .token("t\(counter.next())") }
    let grant = try grant()
    func replace(_ uid: UInt32) async throws {
      let token = try await engine.tokens.token(for: grant, in: .uid(uid))
      let newer = try await engine.tokens.token(for: grant, replacing: token, in: .uid(uid))
      #expect(newer.generation == token.generation + 1)
    }
    for _ in 0..<5 { try await replace(1) }
    for _ in 0..<20 {
      let error = await #expect(throws: TokenError.self) { try await replace(1) }
      #expect(error?.retryAfter == .seconds(50))
    }
    #expect(counter.current == 6)
    let old = try await engine.tokens.token(for: grant)
    try await replace(2)
    // One that is newer already costs nothing.
    let current = try await engine.tokens.token(for: grant, replacing: old, in: .uid(1))
    #expect(current.value == Secret("t7") && counter.current == 7)
    engine.clock.advance(by: .seconds(50))
    try await replace(1)
  }

  @Test("a resource that always answers 401 costs the issuer a token with every request; its answer is the result")
  func alwaysRejected() async throws {
    let counter = Counter()
    let engine = Engine { request, _ in
      request.url.path == "/token" ? .token("t\(counter.next())") : .unauthorized
    }
    for number in 1...20 {
      let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing())
      #expect(response.status == 401 && response.tokenRefreshed == (number <= 5))
    }
    #expect(counter.current == 6)
  }

  @Test("all callers whose token is rejected at once have it replaced together, for one")
  func replacedTogether() async throws {
    let counter = Counter()
    let engine = Engine { _, _ in .token("t\(counter.next())") }
    let grant = try grant()
    let token = try await engine.tokens.token(for: grant)
    try await withThrowingTaskGroup(of: Secret<String>.self) { group in
      for _ in 0..<50 { group.addTask { try await engine.tokens.token(for: grant, replacing: token).value } }
      for try await value in group { #expect(value == Secret("t2")) }
    }
    #expect(counter.current == 2)
  }

  @Test("a lifetime that the issuer does not give is requested without end; one that it gives is obtained")
  func minimumLife() async throws {
    let counter = Counter()
    let engine = Engine { _, _ in .token("t\(counter.next())", expiresIn: 300) }
    let grant = try grant()
    func token(_ seconds: Int) async throws -> Secret<String> {
      try await engine.tokens.token(for: grant, livingFor: .seconds(seconds)).value
    }
    for _ in 0..<20 { #expect(try await token(86_400) == Secret("t1")) }
    engine.clock.advance(by: .seconds(149))
    #expect(try await token(86_400) == Secret("t1"))
    #expect(try await token(151) == Secret("t1"))
    #expect(try await token(152) == Secret("t2"))
    engine.clock.advance(by: .seconds(151))
    #expect(try await token(86_400) == Secret("t3"))
    for _ in 0..<20 {
      engine.clock.advance(by: .milliseconds(1))
      _ = try await token(300)
    }
    #expect(counter.current == 7)
  }

  @Test("the token request is bounded and allows plain http only where the issuer does")
  func options() async throws {
    let seen = Locked<TransferOptions?>(nil)
    let engine = Engine { _, options in
      seen.withLock { $0 = options }
      return .token("t")
    }
    _ = try await engine.tokens.token(for: grant(), in: .uid(by: Deadline(in: .seconds(1), on: engine.clock)))
    let options = try #require(seen.withLock { $0 })
    #expect(options.deadline == Deadline(in: .seconds(30), on: engine.clock), "not the first waiter's deadline")
    #expect(!options.access.plainHTTP.allowsAny && options.maxBodyBytes == 256 << 10)
    let plain = try Issuer.testing(endpoints: [.token: "http://127.0.0.1/token"])
    let error = await #expect(throws: TokenError.self) {
      try await engine.tokens.token(for: ClientCredentialsGrant(issuer: plain))
    }
    guard case .notPossible = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    let allowed = try Issuer.testing(
      endpoints: [.token: "http://127.0.0.1/token"], allowsPlainHTTPOnLoopback: true)
    _ = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: allowed))
    #expect(seen.withLock { $0 }?.access.plainHTTP.allowsAny == true)
  }

  @Test("events tell hits, misses, successes and failures")
  func events() async throws {
    let counter = Counter()
    let engine = Engine { _, _ in counter.next() == 1 ? .token("t") : .status(500) }
    for _ in 0..<2 { _ = try await engine.tokens.token(for: grant()) }
    _ = try? await engine.tokens.token(for: grant(scope: "other"))
    let names = engine.observer.events.map { event in
      switch event {
      case .tokenCacheHit: "hit"
      case .tokenCacheMiss: "miss"
      case .tokenObtained: "obtained"
      case .tokenFailed: "failed"
      case .exchange(let exchange): "\(exchange.method) \(exchange.purpose) \(exchange.outcome)"
      default: "other"
      }
    }
    #expect(
      names == [
        "miss", "POST token of corp status 200", "obtained", "hit", "miss", "POST token of corp status 500",
        "failed",
      ])
  }
}
