import HTTPMessages
import JOSE
import PosternJSON
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Token methods: results on the wire")
struct TokenMethodTests {
  private static let key: JSONValue = [
    "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  ]
  private static let jws =
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

  private static func call(_ method: String, _ params: JSONValue) async throws -> JSONValue {
    let bench = try SidecarBench(CallTests.open) { _, _ async throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")
    }
    return await bench.connect().call(method, params)
  }

  @Test("the answers are the documented results, member by member")
  func documented() async throws {
    let good = try #require(try await Self.call("verifyJws", ["jws": .string(Self.jws), "jwk": Self.key])["result"])
    let result = try JSONValueDecoder().decode(VerifyJWS.Result.self, from: good)
    #expect(result.valid && result.payload == "Example of Ed25519 signing")
    #expect(try JSONValueEncoder().encode(result) == good)
    let pieces: JSONValue = [
      "idToken": .string(Self.jws), "expectedIssuer": "https://idp.test", "clientId": "shop",
      "jwks": ["keys": [Self.key]],
    ]
    let bad = try #require(try await Self.call("validateIdToken", pieces)["result"])
    let verdict = try JSONValueDecoder().decode(TokenVerdict.self, from: bad)
    #expect(!verdict.valid && verdict.error?.code == "malformed_token")
    #expect(try JSONValueEncoder().encode(verdict) == bad)
  }

  @Test("a repeated token has the same answer without a task, but for `cached`")
  func repeated() async throws {
    let bench = try SidecarBench(CallTests.open) { _, _ async throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")
    }
    // The private half of the key above (RFC 8037 appendix A.1).
    var pair = try #require(Self.key.objectValue)
    pair["d"] = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
    let key = try JWK(json: pair)
    let now = bench.clock.wallNow.secondsSinceEpoch
    let claims: JSONObject = [
      "iss": "https://idp.test", "sub": "user", "aud": "shop", "exp": .integer(now + 300), "iat": .integer(now),
      "nonce": "n", "quoted \"name\"": ["ü\n", 1.5],
    ]
    let token = try CompactJWS.sign(claims: claims, with: key, algorithm: .edDSA)
    let params: JSONObject = [
      "idToken": .string(token), "expectedIssuer": "https://idp.test", "clientId": "shop", "nonce": "n",
      "jwks": ["keys": [Self.key]],
    ]
    let connection = bench.connect()
    func verdict(_ params: JSONObject) async throws -> JSONValue {
      try #require(await connection.call("validateIdToken", .object(params))["result"])
    }
    let first = try await verdict(params)
    let second = try await verdict(params)
    #expect(first["valid"] == true && first["cached"] == false)
    var expected = try #require(first.objectValue)
    expected["cached"] = true
    #expect(second == .object(expected))
    #expect(try await verdict(params) == second)
    var other = params
    other["nonce"] = "m"
    #expect(try await verdict(other)["error"]?["code"] == "nonce_mismatch")
  }

  @Test("offline methods send no request: they work without the network")
  func offline() async throws {
    let set: JSONValue = ["keys": [Self.key]]
    #expect(try await Self.call("verifyJws", ["jws": .string(Self.jws), "jwks": set])["result"]?["valid"] == true)
  }

  @Test(
    "an issuer that is not configured is an error of its own for every method that names one",
    arguments: [
      ("validateIdToken", "idToken"), ("validateAccessToken", "accessToken"), ("validateLogoutToken", "logoutToken"),
      ("introspectToken", "token"),
    ])
  func unknownIssuer(method: String, token: String) async throws {
    var params: JSONObject = [token: "x", "issuer": "unknown"]
    if method == "validateAccessToken" { params["audience"] = "api" }
    let error = try await Self.call(method, .object(params))["error"]
    #expect(error?["code"] == 2005)
    #expect(error?["data"]?["path"] == "/issuer")
  }
}
