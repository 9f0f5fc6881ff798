import AuthEngine
import EngineTestSupport
import JOSE
import PosternJSON
import PosternSupport
import Testing

/// RFC 9068.
@Suite struct AccessTokenValidatorTests {
  struct Wrong: Sendable, CustomTestStringConvertible {
    let claim: String
    let value: JSONValue?
    let code: String
    var testDescription: String { "\(claim) \(code)" }
  }

  private func fault(
    _ changes: KeyValuePairs<String, JSONValue?> = [:], header: JSONObject = ["typ": "at+jwt"],
    _ expectations: AccessTokenExpectations = AccessTokenExpectations(audience: "https://api.test")
  ) async throws -> TokenFault? {
    let bench = try TokenBench()
    var claims = bench.claims([
      "aud": ["https://api.test", "https://other.test"], "client_id": "shop", "jti": "t-1", "scope": "read write",
      "nonce": nil,
    ])
    for (name, value) in changes { claims[name] = value }
    let token = try CompactJWS.sign(claims: claims, with: bench.signers.p256, algorithm: .es256, header: header)
    return try await AccessTokenValidator(clock: bench.clock, cache: nil).validate(
      token, expecting: expectations, configuration: bench.configuration, keys: bench.source
    ).fault
  }

  @Test("an access token of RFC 9068 is valid for one of its resources")
  func valid() async throws {
    #expect(try await fault() == nil)
    #expect(try await fault(header: ["typ": "application/AT+JWT"]) == nil)
  }

  @Test(
    "one wrong claim is reported by its own name",
    arguments: [
      Wrong(claim: "iss", value: nil, code: "missing_claim"), Wrong(claim: "iss", value: "x", code: "iss_mismatch"),
      Wrong(claim: "sub", value: nil, code: "missing_claim"), Wrong(claim: "aud", value: nil, code: "missing_claim"),
      Wrong(claim: "aud", value: "https://api.test/", code: "aud_mismatch"),
      Wrong(claim: "client_id", value: nil, code: "missing_claim"),
      Wrong(claim: "client_id", value: 1, code: "invalid_claim_type"),
      Wrong(claim: "exp", value: nil, code: "missing_claim"), Wrong(claim: "exp", value: 1, code: "token_expired"),
      Wrong(claim: "iat", value: nil, code: "missing_claim"), Wrong(claim: "jti", value: nil, code: "missing_claim"),
      Wrong(claim: "jti", value: "", code: "invalid_claim"),
      Wrong(claim: "scope", value: 1, code: "invalid_claim_type"),
      Wrong(claim: "cnf", value: ["jkt": "x"], code: "confirmation_required"),
    ])
  func wrong(_ wrong: Wrong) async throws {
    let fault = try await fault([wrong.claim: wrong.value])
    #expect(fault?.code.rawValue == wrong.code)
    #expect(fault?.claim == wrong.claim)
  }

  @Test("an ID token is no access token", arguments: [[:], ["typ": "JWT"], ["typ": "logout+jwt"]] as [JSONObject])
  func type(header: JSONObject) async throws {
    #expect(try await fault(header: header)?.code == .wrongTokenType)
  }

  @Test("every scope that is needed must be granted, whole")
  func scopes() async throws {
    func fault(_ required: [String], _ granted: JSONValue? = "read write") async throws -> TokenFault.Code? {
      try await self.fault(
        ["scope": granted], AccessTokenExpectations(audience: "https://api.test", requiredScopes: required))?.code
    }
    #expect(try await fault(["write", "read"]) == nil)
    #expect(try await fault(["writ"]) == .insufficientScope)
    #expect(try await fault(["read write"]) == .insufficientScope)
    #expect(try await fault([""]) == .insufficientScope)
    #expect(try await fault(["read"], nil) == .insufficientScope)
    #expect(try await fault(["READ"]) == .insufficientScope)
  }

  @Test(
    "a token that is bound to a key is valid only with that key",
    arguments: [
      (["jkt": "a"], TokenConfirmation.jkt("a"), nil), (["jkt": "a"], .jkt("b"), .confirmationMismatch),
      (["jkt": "a"], .x5tS256("a"), .confirmationMismatch), (["x5t#S256": "a"], .x5tS256("a"), nil),
      (nil, .jkt("a"), .confirmationMismatch), ("a", .jkt("a"), .confirmationMismatch),
    ] as [(JSONValue?, TokenConfirmation, TokenFault.Code?)])
  func confirmation(bound: JSONValue?, shown: TokenConfirmation, code: TokenFault.Code?) async throws {
    let expectations = AccessTokenExpectations(audience: "https://api.test", confirmation: shown)
    #expect(try await fault(["cnf": bound], expectations)?.code == code)
  }

  @Test("the client that presents the token is the one it was issued to")
  func client() async throws {
    let expectations = AccessTokenExpectations(audience: "https://api.test", clientID: "other")
    #expect(try await fault(expectations)?.code == .clientIDMismatch)
  }

  private func fault(_ expectations: AccessTokenExpectations) async throws -> TokenFault? {
    try await fault([:], expectations)
  }

  private func fault(
    _ changes: KeyValuePairs<String, JSONValue?>, _ expectations: AccessTokenExpectations
  ) async throws -> TokenFault? {
    try await fault(changes, header: ["typ": "at+jwt"], expectations)
  }
}
