import AuthEngine
import EngineTestSupport
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

/// RFC 7662 answers, plain and signed (RFC 9701).
@Suite struct IntrospectionCheckerTests {
  let bench: TokenBench
  let checker: IntrospectionChecker

  init() throws {
    bench = try TokenBench()
    checker = IntrospectionChecker(clock: bench.clock)
  }

  private func code(_ body: String, _ expectations: IntrospectionExpectations = .init()) throws -> String? {
    try checker.verdict(body: Array(body.utf8), expecting: expectations, configuration: bench.configuration)
      .fault?.code.rawValue
  }

  @Test(
    "only a boolean active is an answer at all",
    arguments: [
      "", "[]", "{}", #"{"active":"true"}"#, #"{"active":1}"#, #"{"active":null}"#, #"{"active":true,"active":false}"#,
      "<html>",
    ])
  func noAnswer(body: String) throws {
    #expect(throws: IntrospectionError.self) { try code(body) }
  }

  @Test("an inactive token is invalid as such, whatever else is in the answer")
  func inactive() throws {
    #expect(try code(#"{"active":false}"#) == "inactive")
    #expect(try code(#"{"active":false,"exp":"x","iss":1}"#) == "inactive")
  }

  @Test(
    "the members of an active answer are checked",
    arguments: [
      (#""exp":1"#, "token_expired"), (#""exp":"1""#, "invalid_claim_type"),
      (#""nbf":9999999999"#, "token_not_yet_valid"),
      (#""iat":9999999999"#, "iat_invalid"), (#""iss":"https://other.test""#, "iss_mismatch"),
      (#""scope":["a"]"#, "invalid_claim_type"),
      (#""token_type":1"#, "invalid_claim_type"), (#""exp":9999999999,"username":"u""#, nil),
      (#""iss":"https://idp.test""#, nil),
    ] as [(String, String?)])
  func members(members: String, expected: String?) throws {
    #expect(try code(#"{"active":true,\#(members)}"#) == expected)
  }

  @Test(
    "the caller's requirements must be met",
    arguments: [
      (#""aud":"api""#, nil), (#""aud":["x","api"]"#, nil), (#""aud":"x""#, "aud_mismatch"),
      (#""x":1"#, "missing_claim"),
    ] as [(String, String?)])
  func audience(members: String, expected: String?) throws {
    #expect(try code(#"{"active":true,\#(members)}"#, .init(audience: "api")) == expected)
  }

  @Test("scopes, client and token type are compared where they are required")
  func expectations() throws {
    let body = #"{"active":true,"scope":"a b","client_id":"shop","token_type":"Bearer"}"#
    #expect(try code(body, .init(requiredScopes: ["b"], clientID: "shop", tokenType: "bearer")) == nil)
    #expect(try code(body, .init(requiredScopes: ["c"])) == "insufficient_scope")
    #expect(try code(body, .init(clientID: "other")) == "client_id_mismatch")
    #expect(try code(body, .init(tokenType: "DPoP")) == "token_type_mismatch")
    #expect(try code(#"{"active":true}"#, .init(clientID: "shop")) == "missing_claim")
  }

  private func signed(
    _ members: JSONValue? = ["active": true], header: JSONObject = ["typ": "token-introspection+jwt"],
    aud: JSONValue = "api"
  ) throws -> String {
    let claims = bench.claims([
      "aud": aud, "sub": nil, "exp": nil, "nonce": nil, "auth_time": nil, "token_introspection": members,
    ])
    return try CompactJWS.sign(claims: claims, with: bench.signers.p256, algorithm: .es256, header: header)
  }

  private func verdict(_ body: String) async throws -> IntrospectionVerdict {
    try await checker.verdict(
      signedBody: body, resourceServer: "api", expecting: .init(), configuration: bench.configuration,
      keys: bench.source)
  }

  @Test("a signed answer is checked by its content")
  func signedAnswer() async throws {
    guard case .valid(let claims) = try await verdict(signed(["active": true, "sub": "u"])) else {
      Issue.record("refused")
      return
    }
    #expect(claims == ["active": true, "sub": "u"])
    #expect(try await verdict(signed(["active": false])).fault?.code == .inactive)
  }

  @Test("a signed answer that is not the server's, not for us or of another type is no answer")
  func unverified() async throws {
    let forged = try CompactJWS.sign(
      claims: ["iss": "https://idp.test"], with: .generateEdwards(.ed25519, keyID: "ed25519"), algorithm: .edDSA,
      header: ["typ": "token-introspection+jwt"])
    for body in try [
      signed(header: ["typ": "JWT"]), signed(header: [:]), signed(aud: "other"), signed(nil), signed("x"), forged, "x",
    ] {
      await #expect(throws: IntrospectionError.self) { try await verdict(body) }
    }
  }
}
