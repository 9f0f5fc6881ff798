import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("An issuer's metadata")
struct DiscoveryTests {
  private func document(
    _ issuer: String = "https://idp.test", token: String = "https://idp.test/token"
  ) -> HTTPResponse {
    .json(#"{"issuer":"\#(issuer)","token_endpoint":"\#(token)","jwks_uri":"not a url"}"#)
  }

  private func failure(
    _ issuer: Issuer, _ script: @escaping ScriptedTransport.Script
  ) async -> (DiscoveryError?, requests: [String]) {
    let engine = Engine(script)
    do throws(TokenError) {
      _ = try await engine.discovery.metadata(for: issuer)
      return (nil, engine.transport.requests.map(\.url.description))
    } catch {
      guard case .discovery(let failure) = error.kind else { return (nil, []) }
      return (failure, engine.transport.requests.map(\.url.description))
    }
  }

  static let wellKnown: [(String, [String])] = [
    (
      "https://idp.test",
      ["https://idp.test/.well-known/openid-configuration", "https://idp.test/.well-known/oauth-authorization-server"]
    ),
    (
      "https://idp.test/",
      ["https://idp.test/.well-known/openid-configuration", "https://idp.test/.well-known/oauth-authorization-server"]
    ),
    (
      "https://idp.test:8443/realms/a",
      [
        "https://idp.test:8443/realms/a/.well-known/openid-configuration",
        "https://idp.test:8443/.well-known/oauth-authorization-server/realms/a",
      ]
    ),
    (
      "https://idp.test/a/",
      [
        "https://idp.test/a/.well-known/openid-configuration",
        "https://idp.test/.well-known/oauth-authorization-server/a",
      ]
    ),
  ]

  @Test("both well-known locations are tried one after the other while there is nothing", arguments: wellKnown)
  func locations(identifier: String, expected: [String]) async throws {
    let issuer = try Issuer.testing(identifier: identifier, endpoints: [:])
    let (error, requests) = await failure(issuer) { _, _ in .status(404) }
    #expect(requests == expected)
    #expect(error?.kind == .failed && error?.status == 404 && error?.isRetryable == false)
  }

  @Test("the second form serves when the first is absent, or is some web page")
  func fallback() async throws {
    let answers = [HTTPResponse.status(404), .status(302, ("Location", "/")), .json("<html>"), .status(401)]
    for answer in answers {
      let document = document()
      let engine = Engine { request, _ in
        request.url.path.hasSuffix("openid-configuration") ? answer : document
      }
      let metadata = try await engine.discovery.metadata(for: .testing(endpoints: [:]))
      #expect(metadata.endpoints == [.token: try HTTPURL("https://idp.test/token")], "what is no URL counts as absent")
    }
  }

  static let mismatches: [(String, String)] = [
    ("https://idp.test", "https://idp.test/"), ("https://idp.test/", "https://idp.test"),
    ("https://idp.test", "https://IDP.test"), ("https://idp.test", "https://idp.test:443"),
    ("https://idp.test", "http://idp.test"), ("https://idp.test/a", "https://idp.test/a/"),
    ("https://idp.test", "https://evil.test"), ("https://idp.test", ""),
    ("https://idp.test/%C3%A9", "https://idp.test/é"),
  ]

  @Test("another issuer, however alike, is a mismatch, and the other form is not tried", arguments: mismatches)
  func mismatch(configured: String, actual: String) async throws {
    let issuer = try Issuer.testing(identifier: configured, endpoints: [:])
    let document = document(actual)
    let (error, requests) = await failure(issuer) { _, _ in document }
    #expect(error?.kind == .issuerMismatch && requests.count == 1)
    let engine = Engine { _, _ in document }
    let server = try ResourceServer.testing(issuer: issuer)
    let fetched = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    }
    #expect(fetched?.code == .deviceNotAuthenticated && fetched?.upstream?.code == "discovery_issuer_mismatch")
  }

  @Test("metadata without an issuer, or that is no object, is rejected")
  func unusable() async throws {
    let issuer = try Issuer.testing(endpoints: [:])
    #expect(await failure(issuer) { _, _ in .json("{}") }.0?.kind == .issuerMismatch)
    #expect(await failure(issuer) { _, _ in .json(#"{"issuer":1}"#) }.0?.kind == .issuerMismatch)
    #expect(await failure(issuer) { _, _ in .json("[]") }.0?.kind == .failed)
    #expect(await failure(issuer) { _, _ in .json(#"{"issuer":"a","issuer":"https://idp.test"}"#) }.0?.kind == .failed)
    let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
    #expect(await failure(issuer) { _, _ in .json(deep) }.0?.kind == .failed)
  }

  @Test("a server that fails gets no request at its other location, and is retryable")
  func serverError() async throws {
    let (error, requests) = await failure(try .testing(endpoints: [:])) { _, _ in .status(503) }
    #expect(error?.isRetryable == true && requests.count == 1)
  }

  @Test("http is rejected before anything is sent, except on loopback with the switch")
  func secure() async throws {
    for (identifier, allowed) in [
      ("http://idp.test", true), ("http://127.0.0.1:9", false), ("http://localhost:9", true),
    ] {
      let issuer = try Issuer.testing(identifier: identifier, endpoints: [:], allowsPlainHTTPOnLoopback: allowed)
      let (error, requests) = await failure(issuer) { _, _ in .status(404) }
      #expect(error?.kind == .failed && requests.isEmpty, "\(identifier)")
    }
    let plain = try Issuer.testing(
      identifier: "http://127.0.0.1:9/api/oidc", endpoints: [:], allowsPlainHTTPOnLoopback: true)
    let document = document("http://127.0.0.1:9/api/oidc", token: "http://127.0.0.1:9/api/oidc/token")
    let engine = Engine { _, options in options.access.plainHTTP.allowsAny ? document : .status(500) }
    #expect(try await engine.discovery.metadata(for: plain).endpoints[.token]?.path == "/api/oidc/token")
  }

  @Test("an insecure token endpoint in the metadata counts as none")
  func insecureEndpoint() async throws {
    let document = document(token: "http://idp.test/token")
    let grant = try ClientCredentialsGrant(issuer: .testing(endpoints: [:]))
    let engine = Engine { _, _ in document }
    let error = await #expect(throws: TokenError.self) {
      try await engine.tokens.token(for: grant)
    }
    guard case .notPossible = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(
    "an issuer with a query or a fragment is rejected", arguments: ["https://a.test/?x", "https://a.test#x", "a.test"])
  func identifier(text: String) {
    #expect(throws: HTTPURLError.self) { try Issuer.testing(identifier: text) }
  }

  @Test("configured endpoints take precedence over the metadata, which is not fetched")
  func override() async throws {
    let engine = Engine { request, _ in request.url.path == "/own" ? .token("t") : .status(500) }
    let issuer = try Issuer.testing(endpoints: [.token: "https://idp.test/own"])
    _ = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    #expect(engine.transport.requests.map(\.url.path) == ["/own"])
  }

  @Test("one request for any number of waiters, kept for an hour")
  func cached() async throws {
    let (gate, document) = (Gate(), document())
    let engine = Engine { _, _ in
      await gate.pass()
      return document
    }
    let issuer = try Issuer.testing(endpoints: [:])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 { group.addTask { _ = try await engine.discovery.metadata(for: issuer) } }
      #expect(await eventually { gate.waiterCount == 1 })
      gate.open()
      try await group.waitForAll()
    }
    engine.clock.advance(by: .seconds(3599))
    _ = try await engine.discovery.metadata(for: issuer)
    #expect(engine.transport.requests.count == 1)
    engine.clock.advance(by: .seconds(1))
    _ = try await engine.discovery.metadata(for: issuer)
    #expect(engine.transport.requests.count == 2)
  }

  @Test("the old copy is used while the server fails, fetched again every thirty seconds, for a day at most")
  func stale() async throws {
    let (works, document) = (Locked(true), document())
    let engine = Engine { _, _ throws(TransportError) in
      guard works.withLock({ $0 }) else {
        throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")
      }
      return document
    }
    let issuer = try Issuer.testing(endpoints: [:])
    _ = try await engine.discovery.metadata(for: issuer)
    works.withLock { $0 = false }
    engine.clock.advance(by: .seconds(3600))
    for _ in 0..<5 { _ = try await engine.discovery.metadata(for: issuer) }
    #expect(engine.transport.requests.count == 2)
    engine.clock.advance(by: .seconds(30))
    _ = try await engine.discovery.metadata(for: issuer)
    #expect(engine.transport.requests.count == 3)
    engine.clock.advance(by: .seconds(86_400))
    await #expect(throws: TokenError.self) {
      try await engine.discovery.metadata(for: issuer)
    }
    works.withLock { $0 = true }
    _ = try await engine.discovery.metadata(for: issuer)
  }

  @Test("the server's metadata is kept and nothing of it required")
  func contents() async throws {
    let engine = Engine { _, _ in
      .json(
        #"{"issuer":"https://idp.test","grant_types_supported":["authorization_code",1],"scopes_supported":"x","#
          + #""authorization_response_iss_parameter_supported":true,"end_session_endpoint":"https://idp.test/out"}"#)
    }
    let metadata = try await engine.discovery.metadata(for: .testing(endpoints: [:]))
    #expect(metadata.grantTypesSupported == ["authorization_code"] && metadata.scopesSupported == nil)
    #expect(metadata.sendsIssuerInAuthorizationResponse && metadata.codeChallengeMethodsSupported == nil)
    #expect(metadata.endpoints == [.endSession: try HTTPURL("https://idp.test/out")])
  }
}
