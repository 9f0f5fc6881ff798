import AuthEngine
import EngineTestSupport
import JOSE
import PosternJSON
import PosternSupport
import Testing

/// C2: algorithm, critical extensions, type.
@Suite struct IDTokenHeaderTests {
  @Test("every algorithm of the table verifies", arguments: SignatureAlgorithm.asymmetric)
  func algorithms(algorithm: SignatureAlgorithm) async throws {
    let bench = try TokenBench()
    guard
      case .valid(let claims, let header, let key, let cached) = try await bench.verdict(
        on: bench.token(algorithm: algorithm))
    else {
      Issue.record("\(algorithm) was rejected")
      return
    }
    #expect(claims == bench.claims())
    #expect(header["alg"] == .string(algorithm.name))
    #expect(key.alg == algorithm.name)
    #expect(key.kid == bench.signers.key(for: algorithm).keyID)
    #expect(key.thumbprint == bench.signers.key(for: algorithm).thumbprint)
    #expect(!cached)
  }

  @Test("an algorithm that is not allowed is rejected, and the fault has the token's algorithm")
  func allowList() async throws {
    var bench = try TokenBench()
    bench.configuration.algorithms = [.rs256]
    let fault = try await bench.verdict(on: bench.token()).fault
    #expect(fault?.code == .algNotAllowed)
    #expect(fault?.expected == ["RS256"])
    #expect(fault?.actual == "ES256")
    #expect(try await bench.code(of: bench.token(algorithm: .rs256)) == nil)
    #expect(IDTokenConfiguration(issuer: "x").algorithms == [.rs256])
  }

  @Test("a caller may narrow the algorithms, never widen them")
  func narrowing() async throws {
    var bench = try TokenBench()
    bench.configuration.algorithms = [.rs256, .es256, .edDSA]
    bench.expectations.algorithms = [.es256, .es384]
    #expect(try await bench.code(of: bench.token()) == nil)
    #expect(try await bench.code(of: bench.token(algorithm: .rs256)) == "alg_not_allowed")
    #expect(try await bench.code(of: bench.token(algorithm: .es384)) == "alg_not_allowed")
    bench.expectations.algorithms = [.ed25519]
    #expect(try await bench.code(of: bench.token(algorithm: .ed25519)) == nil)
    #expect(try await bench.code(of: bench.token(algorithm: .edDSA)) == nil)
    bench.expectations.algorithms = []
    #expect(try await bench.code(of: bench.token()) == "alg_not_allowed")
  }

  @Test("EdDSA on Ed448 (RFC 8037) is rejected where it or Ed448 is allowed, or passes where only Ed25519 is")
  func edwards() async throws {
    var bench = try TokenBench()
    let polymorphic = try CompactJWS.sign(
      claims: bench.claims(), with: bench.signers.ed448, algorithm: .edDSA)
    let other = try CompactJWS.sign(claims: bench.claims(), with: bench.signers.ed25519, algorithm: .edDSA)
    for (allowed, onEd448, named448, onEd25519, named25519) in [
      ([SignatureAlgorithm.edDSA], nil, nil, nil, nil),
      ([.ed448], nil, nil, "key_alg_mismatch", "alg_not_allowed"),
      ([.ed25519], "key_alg_mismatch", "alg_not_allowed", nil, nil),
      ([.ed448, .ed25519], nil, nil, nil, nil),
      ([.es256], "alg_not_allowed", "alg_not_allowed", "alg_not_allowed", "alg_not_allowed"),
    ] as [([SignatureAlgorithm], String?, String?, String?, String?)] {
      bench.configuration.algorithms = allowed
      #expect(try await bench.code(of: polymorphic) == onEd448, "\(allowed)")
      #expect(try await bench.code(of: bench.token(algorithm: .ed448)) == named448, "\(allowed)")
      #expect(try await bench.code(of: other) == onEd25519, "\(allowed)")
      #expect(try await bench.code(of: bench.token(algorithm: .ed25519)) == named25519, "\(allowed)")
    }
    bench.configuration.algorithms = [.edDSA]
    bench.expectations.algorithms = [.ed25519]
    #expect(try await bench.code(of: polymorphic) == "key_alg_mismatch", "a call narrows EdDSA to one curve")
  }

  @Test(
    "none is rejected in every spelling, with and without a signature part",
    arguments: [
      "none", "None", "NONE", "nOnE", "none ", " none", "n\\u006fne", "",
    ])
  func none(name: String) async throws {
    let bench = try TokenBench()
    let header = #"{"alg":"\#(name)"}"#
    let payload = JSONWriter().string(.object(bench.claims()))
    #expect(try await bench.code(of: TokenBench.raw(header: header, payload: payload)) == "alg_not_allowed")
    let unsigned = TokenBench.raw(header: header, payload: payload, signature: [])
    let expected = ["none ", " none", ""].contains(name) ? "malformed_token" : "alg_not_allowed"
    #expect(try await bench.code(of: unsigned) == expected)
  }

  @Test(
    "names are compared exactly", arguments: ["es256", "ES256 ", "ES-256", "RS256\\u0000", "E\u{017F}256", "HS256"])
  func spelling(name: String) async throws {
    let bench = try TokenBench()
    let token = TokenBench.raw(header: #"{"alg":"\#(name)","kid":"p256"}"#, payload: "{}")
    #expect(["alg_not_allowed", "malformed_token"].contains(try await bench.code(of: token)))
  }

  @Test("a registered algorithm that cannot be computed here is told apart", arguments: ["ML-DSA-44", "ML-DSA-65"])
  func unsupported(name: String) async throws {
    let token = TokenBench.raw(header: #"{"alg":"\#(name)"}"#, payload: "{}")
    #expect(try await TokenBench().code(of: token) == "alg_not_supported")
  }

  @Test("alg must be there and a string", arguments: ["{}", #"{"alg":1}"#, #"{"alg":null}"#, #"{"alg":["ES256"]}"#])
  func missing(header: String) async throws {
    #expect(try await TokenBench().code(of: TokenBench.raw(header: header, payload: "{}")) == "malformed_token")
  }

  @Test(
    "crit is rejected whatever its value, b64 with and without it",
    arguments: [
      #""crit":[]"#, #""crit":"exp""#, #""crit":null"#, #""crit":["exp"]"#, #""crit":["exp","exp"],"exp":1"#,
      #""crit":["alg"]"#, #""crit":[1]"#, #""crit":["x"],"x":1"#, #""crit":["b64"],"b64":false"#, #""b64":false"#,
      #""crit":["b64"],"b64":true"#,
    ])
  func critical(members: String) async throws {
    let token = TokenBench.raw(header: #"{"alg":"ES256","kid":"p256",\#(members)}"#, payload: "{}")
    #expect(try await TokenBench().code(of: token) == "unsupported_crit")
  }

  @Test(
    "no other kind of token passes for an ID token",
    arguments: [
      "at+jwt", "application/at+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt", "token-introspection+jwt", "JOSE", "",
      "jwt/x", "image/jwt",
    ])
  func otherTypes(type: String) async throws {
    let bench = try TokenBench()
    let fault = try await bench.verdict(on: bench.token(header: ["typ": .string(type)])).fault
    #expect(fault?.code == .wrongTokenType)
    #expect(fault?.claim == "typ")
  }

  @Test(
    "typ JWT is accepted as it is commonly written", arguments: ["JWT", "jwt", "application/jwt", "Application/JWT"])
  func type(type: String) async throws {
    let bench = try TokenBench()
    #expect(try await bench.code(of: bench.token(header: ["typ": .string(type)])) == nil)
  }

  @Test("cty JWT is invalid on a token that is only signed")
  func contentType() async throws {
    let bench = try TokenBench()
    #expect(try await bench.code(of: bench.token(header: ["cty": "JWT"])) == "wrong_token_type")
  }

  @Test("a logout token without typ is not an ID token")
  func logoutToken() async throws {
    let bench = try TokenBench()
    let token = try bench.token(["events": ["http://schemas.openid.net/event/backchannel-logout": [:]]])
    #expect(try await bench.code(of: token) == "wrong_token_type")
  }

  @Test("the client secret verifies HS256 only where it is listed and configured")
  func clientSecret() async throws {
    var bench = try TokenBench()
    let secret = "a secret of at least thirty-two octets"
    let token = try CompactJWS.sign(
      claims: bench.claims(), with: .symmetric(Array(secret.utf8)), algorithm: .hs256)
    #expect(try await bench.code(of: token) == "alg_not_allowed")
    bench.configuration.algorithms = [.hs256]
    #expect(try await bench.code(of: token) == "alg_not_allowed")
    bench.configuration.clientSecret = Secret(secret)
    guard case .valid(_, _, let key, _) = try await bench.verdict(on: token) else {
      Issue.record("refused")
      return
    }
    #expect(key == TokenKey(kid: nil, alg: "HS256", thumbprint: nil))
    #expect(bench.source.loads == 0)
    bench.configuration.algorithms = [.rs256]
    #expect(try await bench.code(of: token) == "alg_not_allowed")
    bench.configuration.algorithms = [.hs256]
    bench.configuration.clientSecret = Secret("another secret of thirty-two octets!!")
    #expect(try await bench.code(of: token) == "bad_signature")
  }

  @Test("a secret shorter than the hash is no key", arguments: ["", "short", "thirty-one octets are one short"])
  func weakSecret(secret: String) async throws {
    var bench = try TokenBench()
    bench.configuration.algorithms = [.hs256]
    bench.configuration.clientSecret = Secret(secret)
    let token = TokenBench.raw(
      header: #"{"alg":"HS256"}"#, payload: JSONWriter().string(.object(bench.claims())))
    #expect(try await bench.code(of: token) == "weak_key")
  }

  @Test("a token under a client secret has one audience")
  func symmetricAudiences() async throws {
    var bench = try TokenBench()
    let secret = "a secret of at least thirty-two octets"
    bench.configuration.algorithms = [.hs256]
    bench.configuration.clientSecret = Secret(secret)
    bench.configuration.trustedAudiences = ["api"]
    let token = try CompactJWS.sign(
      claims: bench.claims(["aud": ["shop", "api"]]), with: .symmetric(Array(secret.utf8)), algorithm: .hs256)
    #expect(try await bench.code(of: token) == "alg_not_allowed")
  }
}
