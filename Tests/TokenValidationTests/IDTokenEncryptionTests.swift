import AuthEngine
import EngineTestSupport
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

/// C7: ID tokens that are signed, then encrypted.
@Suite struct IDTokenEncryptionTests {
  private static let own = Result { try JWK.generateEC(.p256) }

  private func bench(isRequired: Bool = false) throws -> (TokenBench, JWK) {
    let key = try Self.own.get()
    var bench = try TokenBench()
    bench.configuration.encryption = TokenEncryptionPolicy(isRequired: isRequired, keys: [key])
    return (bench, key)
  }

  private func encrypted(
    _ token: String, for key: JWK, algorithm: KeyManagementAlgorithm = .ecdhESA256KW,
    header: JSONObject = ["cty": "JWT"]
  ) throws -> String {
    try CompactJWE.encrypt(
      Array(token.utf8), for: key, algorithm: algorithm, encryption: .a256GCM, header: header)
  }

  @Test("an encrypted token is judged by the token inside, with or without cty and kid")
  func nested() async throws {
    let (bench, key) = try bench()
    for header in [["cty": "JWT"], [:], ["kid": "what the issuer calls it"], ["typ": "JWT"]] as [JSONObject] {
      let verdict = try await bench.verdict(on: encrypted(bench.token(), for: key, header: header))
      #expect(verdict.claims == bench.claims())
    }
    #expect(try await bench.code(of: encrypted(bench.token(["iss": "x"]), for: key)) == "iss_mismatch")
  }

  @Test("where encryption is required a plain token is invalid; where none was agreed an encrypted one is")
  func agreement() async throws {
    let (required, key) = try bench(isRequired: true)
    #expect(try await required.code(of: required.token()) == "encryption_required")
    #expect(try await required.code(of: encrypted(required.token(), for: key)) == nil)
    let plain = try TokenBench()
    #expect(try await plain.code(of: encrypted(plain.token(), for: key)) == "unexpected_encryption")
  }

  @Test("what is inside must be a signed token: not bare claims, not none, not one more layer")
  func inside() async throws {
    let (bench, key) = try bench()
    let claims = JSONWriter().string(.object(bench.claims()))
    #expect(try await bench.code(of: encrypted(claims, for: key)) == "malformed_token")
    let unsigned = TokenBench.raw(header: #"{"alg":"none"}"#, payload: claims, signature: [])
    #expect(try await bench.code(of: encrypted(unsigned, for: key)) == "alg_not_allowed")
    let twice = try encrypted(encrypted(bench.token(), for: key), for: key)
    #expect(try await bench.code(of: twice) == "malformed_token")
    #expect(try await bench.code(of: encrypted(bench.token(header: ["cty": "JWT"]), for: key)) == "wrong_token_type")
    #expect(try await bench.code(of: encrypted(bench.token(), for: key, header: ["cty": "text"])) == "wrong_token_type")
    let binary = try CompactJWE.encrypt([0xFF, 0xFE], for: key, algorithm: .ecdhES, encryption: .a128GCM)
    #expect(try await bench.code(of: binary) == "malformed_token")
  }

  @Test("an outer typ of another kind of token is invalid, whatever is inside")
  func outerType() async throws {
    let (bench, key) = try bench()
    for type in ["JWT", "jwt", "application/jwt"] {
      #expect(try await bench.code(of: encrypted(bench.token(), for: key, header: ["typ": .string(type)])) == nil)
    }
    for type in [
      "at+jwt", "application/at+jwt", "AT+JWT", "logout+jwt", "dpop+jwt", "secevent+jwt", "token-introspection+jwt",
      "JOSE", "", "JWT\u{301}", "\u{212A}",
    ] {
      let token = try encrypted(bench.token(), for: key, header: ["typ": .string(type), "cty": "JWT"])
      #expect(try await bench.code(of: token) == "wrong_token_type", "\(type)")
    }
  }

  @Test("claims that the outer header repeats are those inside (RFC 7519 section 5.3)")
  func replicated() async throws {
    let (bench, key) = try bench()
    let claims = bench.claims()
    func code(_ header: JSONObject) async throws -> String? {
      try await bench.code(of: encrypted(bench.token(), for: key, header: header))
    }
    var same = JSONObject()
    for name in ["iss", "sub", "aud"] { same[name] = claims[name] }
    #expect(try await code(same) == nil)
    for (name, fault) in [("iss", "iss_mismatch"), ("sub", "sub_mismatch"), ("aud", "aud_mismatch")] {
      for other in [
        .string("other"), .array([.string("other")]), .null, .integer(1),
        .string((claims[name]?.stringValue ?? "") + "\u{200B}"),
      ] as [JSONValue] {
        var header = same
        header[name] = other
        #expect(try await code(header) == fault, "\(name) \(other)")
      }
    }
    let without = try encrypted(bench.token(["sub": nil]), for: key, header: ["sub": "user-1"])
    #expect(try await bench.code(of: without) == "sub_mismatch", "absent inside")
  }

  @Test("whatever is wrong inside the encryption reads the same", arguments: 1...4)
  func uniform(part: Int) async throws {
    let (bench, key) = try bench()
    let token = try encrypted(bench.token(), for: key)
    var parts = token.split(separator: ".").map(String.init)
    var bytes = try #require(Base64URL.decode(parts[part]))
    bytes[0] ^= 1
    parts[part] = Base64URL.string(bytes)
    #expect(try await bench.code(of: parts.joined(separator: ".")) == "decryption_failed")
    let foreign = try encrypted(bench.token(), for: .generateEC(.p256))
    #expect(try await bench.code(of: foreign) == "decryption_failed")
  }

  @Test("tags, initialization vectors and keys of another length do not count", arguments: 1...4)
  func lengths(part: Int) async throws {
    let (bench, key) = try bench()
    var parts = try encrypted(bench.token(), for: key).split(separator: ".").map(String.init)
    let bytes = try #require(Base64URL.decode(parts[part]))
    for changed in [Array(bytes.prefix(1)), Array(bytes.dropLast()), bytes + [0], []] {
      parts[part] = Base64URL.string(changed)
      #expect(
        ["decryption_failed", "malformed_token"].contains(try await bench.code(of: parts.joined(separator: "."))))
    }
  }

  @Test(
    "RSA1_5, passwords, compression and unlisted algorithms are rejected before any key is used",
    arguments: [
      (#"{"alg":"RSA1_5","enc":"A128GCM"}"#, "alg_not_allowed"),
      (#"{"alg":"PBES2-HS256+A128KW","enc":"A128GCM","p2c":1000000000,"p2s":"AAAA"}"#, "alg_not_allowed"),
      (#"{"alg":"A128KW","enc":"A128GCM"}"#, "alg_not_allowed"),
      (#"{"alg":"dir","enc":"A128GCM"}"#, "alg_not_allowed"),
      (#"{"alg":"none","enc":"A128GCM"}"#, "alg_not_allowed"),
      (#"{"alg":"ECDH-ES","enc":"none"}"#, "alg_not_allowed"),
      (#"{"alg":"ECDH-ES","enc":"A128GCM","zip":"DEF"}"#, "alg_not_supported"),
      (#"{"alg":"ECDH-ES","enc":"A128GCM","crit":["x"],"x":1}"#, "unsupported_crit"),
    ])
  func rejectedAlgorithms(header: String, code: String) async throws {
    let (bench, _) = try bench()
    let token = [Array(header.utf8), [1], [2], [3], [4]].map(Base64URL.string).joined(separator: ".")
    #expect(try await bench.code(of: token) == code)
  }

  @Test("a shared key is derived from the client secret where that is listed")
  func clientSecret() async throws {
    var bench = try TokenBench()
    let secret = Secret("a client secret")
    let key = try #require(JWK.clientSecret(secret, algorithm: .a128KW, encryption: .a256GCM))
    let token = try encrypted(bench.token(), for: key, algorithm: .a128KW)
    bench.configuration.encryption = TokenEncryptionPolicy(keys: [], algorithms: [.a128KW])
    #expect(try await bench.code(of: token) == "unexpected_encryption")
    bench.configuration.clientSecret = secret
    #expect(try await bench.code(of: token) == nil)
    bench.configuration.clientSecret = Secret("another")
    #expect(try await bench.code(of: token) == "decryption_failed")
  }

  @Test("a key that is named otherwise is not tried, one without a name is")
  func names() async throws {
    var (bench, key) = try bench()
    let token = try encrypted(bench.token(), for: key, header: ["kid": "a"])
    bench.configuration.encryption.keys = [key.identified(by: "b")]
    #expect(try await bench.code(of: token) == "key_not_found")
    bench.configuration.encryption.keys = [try .generateEC(.p256), key]
    #expect(try await bench.code(of: token) == nil)
    bench.configuration.encryption.keys = [key.identified(by: "a"), try .generateEC(.p256)]
    #expect(try await bench.code(of: token) == nil)
  }
}
