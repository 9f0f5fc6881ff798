import AuthEngine
import EngineTestSupport
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

/// Attacks on other validators (D2 of the reference), tried on this one.
@Suite struct IDTokenAttackTests {
  @Test(
    "a public key is never an HMAC secret, in whichever shape an attacker guesses it",
    arguments: ["HS256", "HS384", "HS512"])
  func algorithmConfusion(name: String) async throws {
    let bench = try TokenBench()
    let algorithm = try #require(SignatureAlgorithm(name: name))
    let key = try #require(bench.signers.rsa.publicJSON())
    let modulus = try #require(key["n"]?.stringValue)
    let guesses: [[UInt8]] = [
      JSONWriter().write(.object(key)), Array(modulus.utf8), try #require(Base64URL.decode(modulus)),
      [UInt8](repeating: 0, count: 64),
    ]
    for guess in guesses {
      let forged = try CompactJWS.sign(
        claims: bench.claims(), with: .symmetric(guess), algorithm: algorithm, header: ["kid": "rsa"])
      #expect(try await bench.code(of: forged) == "alg_not_allowed")
    }
  }

  @Test("where HMAC is allowed a key set still supplies no secret")
  func secretFromKeySet() async throws {
    var bench = try TokenBench()
    bench.configuration.algorithms = [.hs256, .es256]
    bench.configuration.clientSecret = Secret("the real secret of thirty-two octets")
    let planted = JWK.symmetric([UInt8](repeating: 1, count: 32), keyID: "planted")
    bench.source.replace(by: JWKSet([planted]))
    let forged = try CompactJWS.sign(claims: bench.claims(), with: planted, algorithm: .hs256)
    #expect(try await bench.code(of: forged) == "bad_signature")
    #expect(bench.source.loads == 0)
  }

  @Test("a key that the token brings along verifies nothing (CVE-2018-0114)", arguments: ["jwk", "jku", "x5u", "x5c"])
  func embeddedKeys(name: String) async throws {
    let bench = try TokenBench()
    let own = try JWK.generateEC(.p256, keyID: "mine")
    let value: JSONValue =
      name == "jwk" ? .object(try #require(own.publicJSON())) : name == "x5c" ? ["AAAA"] : "https://evil.test/keys"
    let unknown = try CompactJWS.sign(claims: bench.claims(), with: own, algorithm: .es256, header: [name: value])
    #expect(try await bench.code(of: unknown) == "key_not_found")
    let named = try CompactJWS.sign(
      claims: bench.claims(), with: own.identified(by: "p256"), algorithm: .es256, header: [name: value])
    #expect(try await bench.code(of: named) == "bad_signature")
    #expect(try await bench.code(of: bench.token(header: [name: value])) == nil, "it is ignored, not believed")
  }

  @Test("a signature of one algorithm is none of another")
  func crossAlgorithm() async throws {
    let bench = try TokenBench()
    let payload = JSONWriter().write(.object(bench.claims()))
    let real = try bench.token(algorithm: .rs256).split(separator: ".").map(String.init)
    for other in ["PS256", "RS384", "RS512"] {
      let header = Base64URL.string(Array(#"{"alg":"\#(other)","kid":"rsa"}"#.utf8))
      #expect(try await bench.code(of: "\(header).\(real[1]).\(real[2])") == "bad_signature")
    }
    let curve = TokenBench.raw(
      header: #"{"alg":"ES384","kid":"p256"}"#, payload: String(decoding: payload, as: UTF8.self),
      signature: [UInt8](repeating: 1, count: 96))
    #expect(try await bench.code(of: curve) == "key_alg_mismatch")
  }

  @Test("an allowed key of a foreign issuer signs nothing for this one")
  func foreignSigner() async throws {
    let bench = try TokenBench()
    let foreign = try JWK.generateEC(.p256, keyID: "p256")
    let token = try CompactJWS.sign(claims: bench.claims(), with: foreign, algorithm: .es256)
    #expect(try await bench.code(of: token) == "bad_signature")
  }

  @Test(
    "hostile text is rejected quickly and without a trap",
    arguments: [
      String(repeating: ".", count: 4), String(repeating: "e30.", count: 10_000), "..............",
      String(repeating: "A", count: 65_000) + "..", "\u{0}.\u{0}.\u{0}", "🙂.🙂.🙂", "eyJ.eyJ.eyJ", "e30.e30.e30", "e30..",
      ".e30.", "..e30", "....",
    ])
  func hostileText(token: String) async throws {
    #expect(try await TokenBench().verdict(on: token).fault != nil)
  }

  @Test("deep nesting and huge arrays inside a signed token are bounded")
  func bombs() async throws {
    let bench = try TokenBench()
    let deep = #"{"a":"# + String(repeating: #"{"a":"#, count: 1000) + "1" + String(repeating: "}", count: 1001)
    let token = try CompactJWS.sign(Array(deep.utf8), with: bench.signers.p256, algorithm: .es256)
    #expect(try await bench.code(of: token) == "malformed_token")
    let wide = try bench.token(["aud": .array((0..<10_000).map { .string("\($0)") })])
    #expect(try await bench.code(of: wide) != nil)
  }

  @Test("a claim name written with look-alikes or escapes is what it is, not what it looks like")
  func lookAlikes() async throws {
    let bench = try TokenBench()
    let text = #"{"\u0069ss":"https://idp.test","sub":"u","aud":"shop","exp":\#(bench.now + 9),"iat":0,"nonce":"n-1"}"#
    let escaped = try CompactJWS.sign(Array(text.utf8), with: bench.signers.p256, algorithm: .es256)
    #expect(try await bench.code(of: escaped) == nil)
    let cyrillic = try bench.token(["iss": nil, "\u{456}ss": "https://idp.test"])
    #expect(try await bench.code(of: cyrillic) == "missing_claim")
  }

  @Test(
    "no single-bit change of a valid token validates",
    arguments: [
      SignatureAlgorithm.rs256, .es256, .ed25519, .ed448,
    ])
  func bitFlips(algorithm: SignatureAlgorithm) async throws {
    let bench = try TokenBench()
    let token = Array(try bench.token(algorithm: algorithm).utf8)
    #expect(try await bench.code(of: String(decoding: token, as: UTF8.self)) == nil)
    for index in token.indices {
      for bit in 0..<8 {
        var changed = token
        changed[index] ^= 1 << bit
        guard let text = String(validating: changed, as: UTF8.self) else { continue }
        let verdict = try await bench.verdict(on: text)
        #expect(!verdict.isValid, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test("no shortened token validates")
  func truncations() async throws {
    let bench = try TokenBench()
    let token = try bench.token()
    for count in 0..<token.utf8.count {
      #expect(try await bench.code(of: String(token.prefix(count))) != nil)
    }
  }
}
