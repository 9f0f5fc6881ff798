import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// RFC 8705: the client's certificate authenticates it, and tokens are bound to it.
@Suite("Mutual TLS")
struct MutualTLSTests {
  private static let identity = ClientIdentity(certificateFile: "/c.pem", key: .file("/c.key"))
  private static let pins = try? KeyPins(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], scope: .leaf)

  private func issuer(
    identity: ClientIdentity? = identity, authentication: any ClientAuthentication = TLSClientAuthentication(),
    endpoints: [ProviderEndpoint: HTTPURL] = [:], allowsPlainHTTP: Bool = false
  ) throws -> Issuer {
    try Issuer(
      name: "corp", identifier: "https://idp.test", clientID: "mtls client", clientAuthentication: authentication,
      endpoints: endpoints,
      access: ServerAccess(
        tls: TLSSettings(clientIdentity: identity, pins: Self.pins),
        plainHTTP: PlainHTTPRule(allowsLoopback: allowsPlainHTTP)))
  }

  private static func metadata(aliases: String = "") -> HTTPResponse {
    .json(
      """
      {"issuer":"https://idp.test","token_endpoint":"https://idp.test/token",
       "revocation_endpoint":"https://idp.test/revoke"\(aliases)}
      """)
  }

  /// Where the token request went, its form, and the options of every exchange.
  private func tokenRequest(
    of issuer: Issuer, aliases: String = ""
  ) async throws -> (url: String, body: String, options: [TransferOptions]) {
    let seen = Locked<[TransferOptions]>([])
    let engine = Engine { request, options in
      seen.withLock { $0.append(options) }
      return request.method == "POST" ? .token("t") : Self.metadata(aliases: aliases)
    }
    _ = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    let request = try #require(engine.transport.requests.last { $0.method == "POST" })
    return (request.url.description, String(decoding: request.body ?? [], as: UTF8.self), seen.withLock { $0 })
  }

  @Test("tls_client_auth sends the client's id in the form, and every request to the issuer has certificate and pins")
  func authentication() async throws {
    let (_, body, options) = try await tokenRequest(of: issuer())
    #expect(body == "grant_type=client_credentials&client_id=mtls+client")
    #expect(options.count == 2)
    #expect(options.allSatisfy { $0.access.tls == TLSSettings(clientIdentity: Self.identity, pins: Self.pins) })
  }

  @Test(
    "a client with a certificate goes to the alias, one without to the endpoint, and a bad alias is none",
    arguments: [
      (true, #"{"token_endpoint":"https://mtls.test/t"}"#, "https://mtls.test/t"),
      (false, #"{"token_endpoint":"https://mtls.test/t"}"#, "https://idp.test/token"),
      (true, #"{"revocation_endpoint":"https://mtls.test/r"}"#, "https://idp.test/token"),
      (true, #"{"token_endpoint":"http://mtls.test/t"}"#, "https://idp.test/token"),
      (true, #"{"token_endpoint":7}"#, "https://idp.test/token"), (true, "7", "https://idp.test/token"),
    ])
  func aliases(hasCertificate: Bool, aliases: String, url: String) async throws {
    let issuer = try issuer(
      identity: hasCertificate ? Self.identity : nil, authentication: ClientSecretBasic(secret: Secret("s")))
    #expect(try await tokenRequest(of: issuer, aliases: #","mtls_endpoint_aliases":\#(aliases)"#).url == url)
  }

  @Test("a configured endpoint takes precedence over the alias")
  func configuredEndpoint() async throws {
    let issuer = try issuer(endpoints: [.token: HTTPURL("https://idp.test/own")])
    #expect(try await tokenRequest(of: issuer).url == "https://idp.test/own")
  }

  @Test("without a certificate, or without TLS, nothing is requested", arguments: [false, true])
  func notPossible(isPlain: Bool) async throws {
    let endpoint = try HTTPURL(isPlain ? "http://127.0.0.1/token" : "https://idp.test/token")
    let issuer = try issuer(
      identity: isPlain ? Self.identity : nil, endpoints: [.token: endpoint], allowsPlainHTTP: true)
    let engine = Engine { _, _ in .token("t") }
    await #expect(throws: TokenError.self) {
      try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    }
    #expect(engine.transport.requests.isEmpty)
  }

  @Test("tokens requested with one certificate are not used with another")
  func cacheKey() async throws {
    let engine = Engine { _, _ in .token("t") }
    let endpoint = [ProviderEndpoint.token: try HTTPURL("https://idp.test/token")]
    let other = ClientIdentity(certificateFile: "/other.pem", key: .file("/c.key"))
    for identity in [Self.identity, other, Self.identity, other] {
      _ = try await engine.tokens.token(
        for: ClientCredentialsGrant(issuer: issuer(identity: identity, endpoints: endpoint)))
    }
    #expect(engine.tokenRequests.count == 2)
  }

  @Test("a resource's requests have its certificate and pins, the issuer's have the issuer's")
  func resource() async throws {
    let seen = Locked<[TransferOptions]>([])
    let engine = Engine { request, options in
      seen.withLock { $0.append(options) }
      return request.method == "POST" ? .token("t") : .status(200)
    }
    var server = try ResourceServer.testing()
    server.access.tls.clientIdentity = Self.identity
    server.access.tls.pins = Self.pins
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    let options = seen.withLock { $0 }
    #expect(options.map(\.access.tls.clientIdentity) == [nil, Self.identity])
    #expect(options.map(\.access.tls.pins) == [nil, Self.pins])
  }
}
