import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// The form of the client's own assertions.
@Suite struct AssertionFormTests {
  private func assertion(
    _ authentication: any ClientAuthentication, at endpoint: String, tokenEndpoint: String? = nil
  ) throws -> (header: JSONObject, claims: JSONObject) {
    var request = TokenEndpointRequest(
      endpoint: try HTTPURL(endpoint), issuer: "https://idp.test", fields: HTTPFields(), form: [],
      options: TransferOptions(deadline: .never, connectTimeout: .seconds(1), maxBodyBytes: 1))
    request.tokenEndpoint = try tokenEndpoint.map { try HTTPURL($0) }
    try authentication.authenticate(&request, as: "svc")
    let jws = try CompactJWS(#require(request.form.first { $0.name == "client_assertion" }?.value))
    return (jws.header.parameters, try jws.unverifiedClaims())
  }

  @Test(
    "an assertion is for another audience than the configured one",
    arguments: [
      (.issuer, "https://idp.test/token", nil, "https://idp.test"),
      (.tokenEndpoint, "https://idp.test/token?p=1", nil, "https://idp.test/token"),
      (.tokenEndpoint, "https://idp.test/revoke", "https://idp.test/token", "https://idp.test/token"),
      (.url, "https://idp.test/revoke", "https://idp.test/token", "https://idp.test/revoke"),
    ] as [(AssertionForm.Audience, String, String?, String)])
  func audience(audience: AssertionForm.Audience, endpoint: String, token: String?, expected: String) throws {
    let clock = ManualClock()
    let keyed = try PrivateKeyJWT(
      key: .generateEC(.p256, keyID: "k1"), form: AssertionForm(audience: audience), clock: clock)
    #expect(try assertion(keyed, at: endpoint, tokenEndpoint: token).claims["aud"] == .string(expected))
    #expect(keyed.needsTokenEndpoint == (audience == .tokenEndpoint))
    let secret = Secret(String(repeating: "s", count: 32))
    let shared = try ClientSecretJWT(secret: secret, audience: audience, clock: clock)
    #expect(try assertion(shared, at: endpoint, tokenEndpoint: token).claims["aud"] == .string(expected))
  }

  @Test("the header lacks the key's id, a thumbprint, or the algorithm of the configuration")
  func header() throws {
    let form = AssertionForm(algorithm: .ps256, thumbprints: ["x5t": "a", "x5t#S256": "b"])
    let keyed = try PrivateKeyJWT(key: .generateRSA(keyID: "k1"), form: form, clock: ManualClock())
    let header = try assertion(keyed, at: "https://idp.test/token").header
    #expect(header == ["alg": "PS256", "kid": "k1", "typ": "JWT", "x5t": "a", "x5t#S256": "b"])
  }

  @Test("an algorithm that the key cannot sign with is found at the first request only")
  func algorithm() throws {
    let key = try JWK.generateEC(.p256)
    #expect(throws: JOSEError.self) {
      try PrivateKeyJWT(key: key, form: AssertionForm(algorithm: .ps256), clock: ManualClock())
    }
  }

  @Test("the token endpoint is looked for although an assertion is for the URL that it is sent to, or not found")
  func otherEndpoint() async throws {
    let engine = Engine { request, _ in
      request.method == "POST"
        ? .json(#"{"active":false}"#)
        : .json(
          """
          {"issuer":"https://idp.test","token_endpoint":"https://idp.test/t","introspection_endpoint":"https://idp.test/i"}
          """)
    }
    let keyed = try PrivateKeyJWT(
      key: .generateEC(.p256), form: AssertionForm(audience: .tokenEndpoint), clock: engine.clock)
    _ = try await ProviderClient(engine.services, discovery: engine.discovery).post(
      [], to: .introspection, of: .testing(authentication: keyed, endpoints: [:]), maxBytes: 1000,
      for: .introspection("corp"), in: CallScope())
    let body = String(decoding: engine.transport.requests(to: "https://idp.test/i").last?.body ?? [], as: UTF8.self)
    let form = try #require(FormEncoding.decode(body))
    let jws = try CompactJWS(#require(form.first { $0.name == "client_assertion" }?.value))
    #expect(try jws.unverifiedClaims()["aud"] == "https://idp.test/t")
  }
}

/// Token endpoints that deviate from RFC 6749.
@Suite struct TokenAnswerRulesTests {
  private func answer(_ body: String, _ rules: TokenAnswerRules = TokenAnswerRules()) throws -> TokenResponse {
    try TokenResponse(HTTPResponse.json(body), by: rules)
  }

  @Test(
    "a type that is not known is used, or is not where the configuration permits it",
    arguments: [
      (#""token_type":"BearerToken""#, "BearerToken"), (#""token_type":"""#, "token_type"),
      (#""x":1"#, "no token_type"),
    ])
  func type(member: String, named: String) throws {
    let body = #"{"access_token":"t",\#(member)}"#
    let error = #expect(throws: TokenError.self) { try answer(body) }
    #expect(error?.detail.contains(named) == true && error?.detail.contains("tokenType: any") == true)
    #expect(try answer(body, TokenAnswerRules(acceptsAnyType: true)).type == .bearer)
  }

  @Test("a DPoP token becomes a bearer token where any type is accepted")
  func proofs() throws {
    let rules = TokenAnswerRules(acceptsAnyType: true)
    #expect(try answer(#"{"access_token":"t","token_type":"DPoP"}"#, rules).type == .dpop)
  }

  @Test("scopes with commas are one scope, or a comma divides a scope elsewhere")
  func scopes() throws {
    let body = #"{"access_token":"t","token_type":"bearer","scope":"repo,gist, user"}"#
    #expect(try answer(body, TokenAnswerRules(separatesByComma: true)).scope == "repo gist user")
    #expect(try answer(body).scope == "repo,gist, user")
    #expect(try !answer(body).statesLifetime)
    #expect(try answer(#"{"access_token":"t","token_type":"bearer","expires_in":"9"}"#).statesLifetime)
  }
}
