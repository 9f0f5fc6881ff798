import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// Assertions of clients: made with the secret, or read from a file.
@Suite("Client assertions")
struct ClientAuthenticationTests {
  private static let secret = "a client secret of thirty-two b."

  /// A JWT with these claims; the signature is not looked at here.
  static func jwt(_ claims: JSONObject) throws -> String {
    try CompactJWS.sign(
      claims: claims, with: JWK(.symmetric(SymmetricKey(Array(secret.utf8)))), algorithm: .hs256)
  }

  static func assertion(
    at clock: ManualClock, life: Int = 60, marked mark: String = "a", audience: JSONValue = "https://idp.test"
  ) throws -> String {
    try jwt([
      "iss": "https://cluster.test", "sub": .string(mark), "aud": audience,
      "exp": .integer((clock.wallNow + .seconds(life)).secondsSinceEpoch),
    ])
  }

  private func form(_ request: HTTPRequest) throws -> [String: String] {
    let members = try #require(FormEncoding.decode(String(decoding: request.body ?? [], as: UTF8.self)))
    #expect(Set(members.map(\.name)).count == members.count, "no member is sent twice")
    return Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
  }

  @Test("client_secret_jwt signs with HS256 over the secret's UTF-8, for the issuer alone, and never sends the secret")
  func secretJWT() async throws {
    let secret = "pässwörd-with-umlauts-of-32-bytes"
    let engine = Engine { _, _ in .token("t") }
    let authentication = try ClientSecretJWT(secret: Secret(secret), clock: engine.clock)
    _ = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: .testing(authentication: authentication)))
    let form = try form(#require(engine.tokenRequests.first))
    #expect(form["client_id"] == "svc" && form["client_secret"] == nil)
    #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    let jws = try CompactJWS(#require(form["client_assertion"]))
    #expect(jws.header.algorithm == "HS256")
    let payload = try jws.verifiedPayload(
      with: JWK(.symmetric(SymmetricKey(Array(secret.utf8)))), algorithm: .hs256)
    let claims = try #require(JSONParser().parse(payload).objectValue)
    let now = engine.clock.wallNow.secondsSinceEpoch
    #expect(claims["iss"] == "svc" && claims["sub"] == "svc" && claims["aud"] == "https://idp.test")
    #expect(claims["iat"] == .integer(now) && claims["exp"] == .integer(now + 60))
    #expect(claims["jti"]?.stringValue?.isEmpty == false)
    #expect(engine.tokenRequests.first?.fields["Authorization"] == nil)
  }

  @Test(
    "a secret of fewer than 32 bytes is no key of HS256",
    arguments: [("a", 31, false), ("a", 32, true), ("é", 16, true)])
  func secretLength(character: String, count: Int, isUsable: Bool) {
    let secret = Secret(String(repeating: character, count: count))
    #expect(((try? ClientSecretJWT(secret: secret, clock: ManualClock())) != nil) == isUsable)
  }

  @Test("different secrets are different clients, and tokens of one are not used for the other")
  func secretIdentity() throws {
    let clock = ManualClock()
    let other = "another client secret of 32 bytes"
    let first = try ClientSecretJWT(secret: Secret(Self.secret), clock: clock)
    #expect(try first == ClientSecretJWT(secret: Secret(Self.secret), clock: clock))
    #expect(try first != ClientSecretJWT(secret: Secret(other), clock: clock))
  }

  @Test("an issuer that lists algorithms without HS256 gets no request", arguments: ["RS256", "HS256"])
  func algorithmNotListed(listed: String) async throws {
    let engine = Engine { request, _ in
      request.method == "POST"
        ? .token("t")
        : .json(
          """
          {"issuer":"https://idp.test","token_endpoint":"https://idp.test/token",
           "token_endpoint_auth_signing_alg_values_supported":["\(listed)"]}
          """)
    }
    let authentication = try ClientSecretJWT(secret: Secret(Self.secret), clock: engine.clock)
    let grant = ClientCredentialsGrant(issuer: try .testing(authentication: authentication, endpoints: [:]))
    if listed == "HS256" {
      _ = try await engine.tokens.token(for: grant)
    } else {
      let error = await #expect(throws: TokenError.self) { try await engine.tokens.token(for: grant) }
      #expect(error?.detail.contains("HS256") == true && error?.outcome == .notSent)
    }
    #expect(engine.tokenRequests.isEmpty == (listed == "RS256"))
  }

  @Test(
    "the file's assertion is sent as it is, with its type, and read for each request",
    arguments: [ClientAssertion.jwtBearer, ClientAssertion.jwtSPIFFE, "urn:example:other"])
  func file(type: String) async throws {
    let engine = Engine { _, _ in .token("t", expiresIn: 0) }
    // Whether an assertion without `exp` will do is the issuer's decision.
    let texts = [try Self.assertion(at: engine.clock, marked: "1"), try Self.jwt(["sub": "a"])]
    let text = Locked(texts[0])
    let authentication = ClientAssertion(file: "/f", type: type, clock: engine.clock) {
      .success(Secret(text.withLock { $0 }))
    }
    let grant = ClientCredentialsGrant(issuer: try .testing(authentication: authentication))
    _ = try await engine.tokens.token(for: grant)
    text.withLock { $0 = texts[1] }
    _ = try await engine.tokens.token(for: grant)
    let forms = try engine.tokenRequests.map(form)
    #expect(forms.map { $0["client_assertion"] } == texts)
    #expect(forms.allSatisfy { $0["client_assertion_type"] == type && $0["client_id"] == "svc" })
    #expect(engine.tokenRequests.allSatisfy { $0.fields["Authorization"] == nil })
  }

  static let unusableTexts: [(String, ClientAssertionFault)] = [
    ("", .malformed), ("a.b", .malformed), ("a.b.c", .malformed), ("not a token", .malformed),
    ("\u{FEFF}JWT", .malformed), ("JWT\nJWT", .malformed), ("JWT.x", .malformed), ("JWT ", .malformed),
    ("exp is text", .malformed), ("expired", .expired), ("expires now", .expired),
  ]

  @Test("an assertion that no issuer would accept is not sent, and the error has its code", arguments: unusableTexts)
  func unusable(text: String, fault: ClientAssertionFault) async throws {
    let engine = Engine { _, _ in .token("t") }
    let good = try Self.assertion(at: engine.clock)
    let content =
      switch text {
      case "exp is text": try Self.jwt(["exp": "1"])
      case "expired": try Self.assertion(at: engine.clock, life: -1)
      case "expires now": try Self.assertion(at: engine.clock, life: 0)
      default: text.split(separator: "JWT", omittingEmptySubsequences: false).joined(separator: good)
      }
    try await expect(fault, .success(Secret(content)), engine)
  }

  @Test("a file that cannot be read gives the error of its fault", arguments: ClientAssertionFault.allCases)
  func unreadable(fault: ClientAssertionFault) async throws {
    try await expect(fault, .failure(fault), Engine { _, _ in .token("t") })
  }

  private func expect(
    _ fault: ClientAssertionFault, _ content: Result<Secret<String>, ClientAssertionFault>, _ engine: Engine
  ) async throws {
    let authentication = ClientAssertion(file: "/f", clock: engine.clock) { content }
    let issuer = try Issuer.testing(authentication: authentication)
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing(issuer: issuer))
    }
    #expect(error?.code == .deviceNotAuthenticated && error?.outcome == .notSent)
    #expect(error?.upstream == .init(code: fault.rawValue))
    #expect(error?.retryable == (fault != .wrongAudience))
    #expect(authentication.fault == fault)
    #expect(engine.transport.requests.isEmpty)
    let session = SessionError(TokenError(.assertion(fault), "d"))
    #expect("\(session.kind)" == "token_endpoint_error" && session.upstreamCode == fault.rawValue)
  }

  @Test(
    "with a configured audience only an assertion that has it is sent",
    arguments: [("https://idp.test", true), (["x", "https://idp.test"], true), ("x", false), (["x"], false)]
      as [(JSONValue, Bool)])
  func audience(audience: JSONValue, isSent: Bool) throws {
    let clock = ManualClock()
    let text = try Self.assertion(at: clock, audience: audience)
    let authentication = ClientAssertion(file: "/f", audience: "https://idp.test", clock: clock) {
      .success(Secret(text))
    }
    #expect(authentication.fault == (isSent ? nil : .wrongAudience))
  }

  @Test("an assertion expires while the process runs, and heals with its file")
  func healing() throws {
    let clock = ManualClock()
    let text = Locked(try Self.assertion(at: clock, life: 5))
    let authentication = ClientAssertion(file: "/f", clock: clock) { .success(Secret(text.withLock { $0 })) }
    #expect(authentication.fault == nil)
    clock.advance(by: .seconds(5))
    #expect(authentication.fault == .expired)
    let next = try Self.assertion(at: clock, life: 5)
    text.withLock { $0 = next }
    #expect(authentication.fault == nil)
  }

  static let rejections: [(HTTPResponse, Bool)] = [
    (.json(#"{"error":"invalid_client"}"#, status: 401), true), (.status(401), true),
    (.json(#"{"error":"invalid_request"}"#, status: 400), true),
    (.json(#"{"error":"unauthorized_client"}"#, status: 400), true), (.status(400), true),
    (.json(#"{"error":"invalid_grant"}"#, status: 400), false),
    (.json(#"{"error":"invalid_scope"}"#, status: 400), false), (.status(403), false), (.status(500), false),
    (.status(429), false),
  ]

  @Test(
    "after a rejection that may be about the client the file is read again, and a new assertion sent once",
    arguments: rejections)
  func replacement(rejection: HTTPResponse, isRetried: Bool) async throws {
    let clock = ManualClock()
    let texts = [try Self.assertion(at: clock, marked: "old"), try Self.assertion(at: clock, marked: "new")]
    let text = Locked(texts[0])
    let engine = Engine(clock: clock) { request, _ in
      let body = String(decoding: request.body ?? [], as: UTF8.self)
      // As a swap between the reading and the answer.
      text.withLock { $0 = texts[1] }
      return body.contains(texts[0]) ? rejection : .token("t")
    }
    let authentication = ClientAssertion(file: "/f", clock: clock) { .success(Secret(text.withLock { $0 })) }
    let grant = ClientCredentialsGrant(issuer: try .testing(authentication: authentication))
    let token = try? await engine.tokens.token(for: grant)
    #expect((token != nil) == isRetried)
    #expect(try engine.tokenRequests.map { try form($0)["client_assertion"] } == (isRetried ? texts : [texts[0]]))
    let reports = engine.observer.events.count { if case .assertionReplaced = $0 { true } else { false } }
    #expect(reports == (isRetried ? 1 : 0))
  }

  @Test("a rejected assertion that is still the file's is sent once")
  func unchanged() async throws {
    let engine = Engine { _, _ in .json(#"{"error":"invalid_client"}"#, status: 401) }
    let text = try Self.assertion(at: engine.clock)
    let authentication = ClientAssertion(file: "/f", clock: engine.clock) { .success(Secret(text)) }
    let grant = ClientCredentialsGrant(issuer: try .testing(authentication: authentication))
    await #expect(throws: TokenError.self) { try await engine.tokens.token(for: grant) }
    #expect(engine.tokenRequests.count == 1)
  }

  @Test("a cached token serves while the file has no assertion")
  func cached() async throws {
    let engine = Engine { _, _ in .token("t") }
    let content = Locked<Result<Secret<String>, ClientAssertionFault>>(
      .success(Secret(try Self.assertion(at: engine.clock))))
    let authentication = ClientAssertion(file: "/f", clock: engine.clock) { content.withLock { $0 } }
    let grant = ClientCredentialsGrant(issuer: try .testing(authentication: authentication))
    _ = try await engine.tokens.token(for: grant)
    content.withLock { $0 = .failure(.missing) }
    #expect(try await engine.tokens.token(for: grant).value == Secret("t"))
  }
}
