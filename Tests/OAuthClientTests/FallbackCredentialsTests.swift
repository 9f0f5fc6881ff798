import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// Credentials that are used in their order when the issuer rejects the client.
@Suite("Fallback credentials")
struct FallbackCredentialsTests {
  private func issuer(_ secrets: [String]) throws
    -> Issuer
  {
    let all = secrets.map { ClientSecretPost(secret: Secret($0)) }
    return try Issuer(
      name: "corp", identifier: "https://idp.test", clientID: "svc", clientAuthentication: all[0],
      fallbackAuthentications: Array(all.dropFirst()),
      endpoints: [.token: HTTPURL("https://idp.test/token")])
  }

  /// The secret of a request.
  private static func secret(_ request: HTTPRequest) -> String {
    let members = FormEncoding.decode(String(decoding: request.body ?? [], as: UTF8.self)) ?? []
    return members.first { $0.name == "client_secret" }?.value ?? ""
  }

  /// An engine whose issuer accepts the secrets in `accepted`, and gives tokens that serve once.
  private func engine(_ accepted: Locked<Set<String>>, rejection: HTTPResponse = rejected) -> Engine {
    Engine { request, _ in
      accepted.withLock { $0 }.contains(Self.secret(request)) ? .token("t", expiresIn: 0) : rejection
    }
  }

  private static let rejected = HTTPResponse.json(#"{"error":"invalid_client"}"#, status: 401)

  private func changes(_ engine: Engine) -> [Int] {
    engine.observer.events.compactMap { if case .credentialChanged(_, let position) = $0 { position } else { nil } }
  }

  @Test("a rejected credential is followed by the next, which is tried first from then on")
  func order() async throws {
    let accepted = Locked<Set<String>>(["b"])
    let engine = engine(accepted)
    let grant = ClientCredentialsGrant(issuer: try issuer(["a", "b", "c"]))
    for _ in 0..<3 { _ = try await engine.tokens.token(for: grant) }
    #expect(engine.tokenRequests.map(Self.secret) == ["a", "b", "b", "b"])
    #expect(changes(engine) == [1])
    accepted.withLock { $0 = ["c"] }
    _ = try await engine.tokens.token(for: grant)
    #expect(engine.tokenRequests.map(Self.secret).suffix(3) == ["b", "a", "c"])
    #expect(changes(engine) == [1, 2])
  }

  @Test("a rotation at any moment fails no request")
  func rotation() async throws {
    let accepted = Locked<Set<String>>(["old"])
    let engine = engine(accepted)
    let grant = ClientCredentialsGrant(issuer: try issuer(["new", "old"]))
    for round in 0..<20 {
      accepted.withLock { $0 = round % 2 == 0 ? ["old"] : ["new"] }
      _ = try await engine.tokens.token(for: grant)
    }
  }

  @Test("after ten minutes the configured credential is tried again, so that the notice of its rejection ends")
  func configuredAgain() async throws {
    let accepted = Locked<Set<String>>(["b"])
    let engine = engine(accepted)
    let issuer = try issuer(["a", "b"])
    let grant = ClientCredentialsGrant(issuer: issuer)
    _ = try await engine.tokens.token(for: grant)
    #expect(issuer.credentialTrouble != nil)
    engine.clock.advance(by: .seconds(599))
    _ = try await engine.tokens.token(for: grant)
    engine.clock.advance(by: .seconds(1))
    accepted.withLock { $0 = ["a", "b"] }
    _ = try await engine.tokens.token(for: grant)
    #expect(engine.tokenRequests.map(Self.secret) == ["a", "b", "b", "a"])
    #expect(changes(engine) == [1, 0])
    #expect(issuer.credentialTrouble == nil)
  }

  @Test("when every credential is rejected, the error is that of the first, and the order stays")
  func allRejected() async throws {
    let engine = engine(Locked([]))
    let issuer = try issuer(["a", "b"])
    let error = await #expect(throws: TokenError.self) {
      try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    }
    #expect(error?.oauthError?.code == "invalid_client")
    #expect(engine.tokenRequests.map(Self.secret) == ["a", "b"])
    #expect(changes(engine).isEmpty && issuer.credentialTrouble == nil)
  }

  static let others: [HTTPResponse] = [
    .json(#"{"error":"invalid_grant"}"#, status: 400), .json(#"{"error":"invalid_grant"}"#, status: 401),
    .json(#"{"error":"invalid_scope"}"#, status: 400), .json(#"{"error":"invalid_request"}"#, status: 400),
    .json(#"{"error":"unauthorized_client"}"#, status: 400), .status(400), .status(403), .status(429), .status(503),
  ]

  @Test("an answer that is not about the client is followed by no other credential", arguments: others)
  func otherErrors(answer: HTTPResponse) async throws {
    let engine = engine(Locked(["b"]), rejection: answer)
    let grant = ClientCredentialsGrant(issuer: try issuer(["a", "b"]))
    await #expect(throws: TokenError.self) { try await engine.tokens.token(for: grant) }
    #expect(engine.tokenRequests.map(Self.secret) == ["a"])
  }

  @Test("a 401 without an error is a rejection of the client")
  func bareStatus() async throws {
    let engine = engine(Locked(["b"]), rejection: .status(401))
    let grant = ClientCredentialsGrant(issuer: try issuer(["a", "b"]))
    _ = try await engine.tokens.token(for: grant)
    #expect(engine.tokenRequests.map(Self.secret) == ["a", "b"])
  }

  @Test("a caller whose grant fails with the fallback does not change the order for others")
  func failedGrant() async throws {
    let engine = Engine { request, _ in
      Self.secret(request) == "a" ? Self.rejected : .json(#"{"error":"invalid_grant"}"#, status: 400)
    }
    let issuer = try issuer(["a", "b"])
    let error = await #expect(throws: TokenError.self) {
      try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    }
    #expect(error?.oauthError?.code == "invalid_grant")
    #expect(changes(engine).isEmpty && issuer.credentialTrouble == nil)
  }

  @Test("an assertion that cannot be sent is followed by the next credential, and shows as trouble")
  func unusableAssertion() async throws {
    let engine = engine(Locked(["b"]))
    let assertion = ClientAssertion(file: "/f", clock: engine.clock) { .failure(.missing) }
    let issuer = try Issuer(
      name: "corp", identifier: "https://idp.test", clientID: "svc", clientAuthentication: assertion,
      fallbackAuthentications: [ClientSecretPost(secret: Secret("b"))],
      endpoints: [.token: HTTPURL("https://idp.test/token")])
    _ = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    #expect(engine.tokenRequests.map(Self.secret) == ["b"])
    #expect(issuer.credentialTrouble?.contains("client_assertion_missing") == true)
  }

  @Test("a fallback by certificate presents its own, at the alias for mutual TLS")
  func certificate() async throws {
    let identity = ClientIdentity(certificateFile: "/b.pem", key: .file("/b.key"))
    let seen = Locked<[(String, ClientIdentity?)]>([])
    let engine = Engine { request, options in
      guard request.method == "POST" else {
        return .json(
          """
          {"issuer":"https://idp.test","token_endpoint":"https://idp.test/token",
           "mtls_endpoint_aliases":{"token_endpoint":"https://mtls.test/token"}}
          """)
      }
      seen.withLock { $0.append((request.url.description, options.access.tls.clientIdentity)) }
      return options.access.tls.clientIdentity == nil ? Self.rejected : .token("t")
    }
    let issuer = try Issuer(
      name: "corp", identifier: "https://idp.test", clientID: "svc",
      clientAuthentication: ClientSecretPost(secret: Secret("a")),
      fallbackAuthentications: [TLSClientAuthentication(isSelfSigned: true, identity: identity)])
    _ = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    let requests = seen.withLock { $0 }
    #expect(requests.map(\.0) == ["https://idp.test/token", "https://mtls.test/token"])
    #expect(requests.map(\.1) == [nil, identity])
  }

  @Test("issuers with other fallbacks are other issuers, with tokens of their own")
  func identity() throws {
    let issuers = [
      try issuer(["a"]), try issuer(["a", "b"]), try issuer(["a", "c"]),
    ]
    #expect(Set(issuers).count == 3)
    #expect(try issuer(["a", "b"]) == issuers[1])
  }
}
