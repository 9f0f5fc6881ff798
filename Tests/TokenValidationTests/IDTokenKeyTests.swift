import AuthEngine
import EngineTestSupport
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

/// C5: the choice of the key, and C3: its result.
@Suite struct IDTokenKeyTests {
  @Test("an unknown kid causes one request for a newer set, and the rotated key is found in it")
  func rotation() async throws {
    let bench = try TokenBench()
    bench.source.replace(by: JWKSet([bench.signers.rsa]))
    bench.source.rotate(to: bench.signers.published)
    #expect(try await bench.code(of: bench.token()) == nil)
    #expect(bench.source.refetches == 1)
    #expect(try await bench.code(of: bench.token()) == nil)
    #expect(bench.source.refetches == 1)
  }

  @Test("an unknown kid that stays unknown is no other key's business")
  func unknown() async throws {
    let bench = try TokenBench()
    let fault = try await bench.verdict(on: bench.token(header: ["kid": "../../etc/passwd"])).fault
    #expect(fault?.code == .keyNotFound)
    #expect(fault?.actual == "../../etc/passwd")
    #expect(bench.source.refetches == 1)
    bench.source.rotate(to: bench.signers.published)
    #expect(try await bench.code(of: bench.token(header: ["kid": "P256"])) == "key_not_found")
  }

  @Test("no set is requested for a token that fails before its key matters")
  func noRequest() async throws {
    let bench = try TokenBench()
    for token in [
      "x", TokenBench.raw(header: #"{"alg":"none"}"#, payload: "{}"), try bench.token(header: ["typ": "x"]),
    ] {
      #expect(try await bench.code(of: token) != nil)
    }
    #expect(bench.source.loads == 0)
  }

  @Test("without keys there is no verdict", arguments: KeySetError.Kind.allCases)
  func undecided(kind: KeySetError.Kind) async throws {
    let bench = try TokenBench()
    bench.source.fail(with: KeySetError(kind, "no keys"))
    let token = try bench.token()
    let error = await #expect(throws: KeySetError.self) { try await bench.verdict(on: token) }
    #expect(error?.kind == kind)
  }

  @Test("the key a kid names must be of the algorithm's type, curve and alg")
  func mismatch() async throws {
    let bench = try TokenBench()
    #expect(try await bench.code(of: bench.token(header: ["kid": "rsa"])) == "key_alg_mismatch")
    #expect(try await bench.code(of: bench.token(header: ["kid": "p384"])) == "key_alg_mismatch")
    let key = bench.signers.rsa
    bench.source.replace(by: JWKSet([JWK(key.material, keyID: "rsa", algorithm: "RS512")]))
    #expect(try await bench.code(of: bench.token(algorithm: .rs256)) == "key_alg_mismatch")
    #expect(try await bench.code(of: bench.token(algorithm: .rs512)) == nil)
  }

  @Test("a header without kid is accepted when one key fits, and rejected when several do")
  func withoutKeyID() async throws {
    let bench = try TokenBench()
    let key = bench.signers.p256.identified(by: nil)
    let token = try CompactJWS.sign(claims: bench.claims(), with: key, algorithm: .es256)
    #expect(try await bench.code(of: token) == nil)
    bench.source.replace(by: JWKSet([bench.signers.p256, try .generateEC(.p256, keyID: "other")]))
    #expect(try await bench.code(of: token) == "key_ambiguous")
    bench.source.replace(by: JWKSet([bench.signers.p384]))
    #expect(["key_not_found", "key_alg_mismatch"].contains(try await bench.code(of: token)))
    bench.source.replace(by: JWKSet([bench.signers.p384, bench.signers.p521]))
    #expect(try await bench.code(of: token) == "key_not_found")
    #expect(bench.source.refetches == 0)
  }

  @Test("two keys of one kid are distinguished by type, and rejected when both fit")
  func sameKeyID() async throws {
    let bench = try TokenBench()
    bench.source.replace(by: JWKSet([bench.signers.rsa.identified(by: "p256"), bench.signers.p256]))
    #expect(try await bench.code(of: bench.token()) == nil)
    bench.source.replace(by: JWKSet([bench.signers.p256, try .generateEC(.p256, keyID: "p256")]))
    #expect(try await bench.code(of: bench.token()) == "key_ambiguous")
  }

  @Test("a key for encryption or for other operations verifies nothing")
  func purposes() async throws {
    let bench = try TokenBench()
    let key = bench.signers.p256.material
    for other in [JWK(key, keyID: "p256", use: "enc"), JWK(key, keyID: "p256", operations: ["deriveKey"])] {
      bench.source.replace(by: JWKSet([other]))
      #expect(try await bench.code(of: bench.token()) == "key_not_found")
    }
    bench.source.replace(by: JWKSet([JWK(key, keyID: "p256", use: "sig", operations: ["verify"])]))
    #expect(try await bench.code(of: bench.token()) == nil)
  }

  @Test("a 1024-bit RSA key is too weak to say anything")
  func weakKey() async throws {
    let bench = try TokenBench()
    let weak: JSONObject = [
      "kty": "RSA", "kid": "weak", "e": "AQAB",
      "n": .string(Base64URL.string([0xC1] + [UInt8](repeating: 0x5B, count: 127))),
    ]
    bench.source.replace(by: JWKSet([try JWK(json: weak)]))
    let token = TokenBench.raw(
      header: #"{"alg":"RS256","kid":"weak"}"#, payload: JSONWriter().string(.object(bench.claims())),
      signature: [UInt8](repeating: 1, count: 128))
    #expect(try await bench.code(of: token) == "weak_key")
  }

  @Test("a forged signature is rejected, of every algorithm", arguments: SignatureAlgorithm.asymmetric)
  func forged(algorithm: SignatureAlgorithm) async throws {
    let bench = try TokenBench()
    let parts = try bench.token(algorithm: algorithm).split(separator: ".")
    let payload = JSONWriter().string(.object(bench.claims(["sub": "admin"])))
    let forged = "\(parts[0]).\(Base64URL.string(Array(payload.utf8))).\(parts[2])"
    #expect(try await bench.code(of: forged) == "bad_signature")
  }

  @Test(
    "signatures of zeros, of the wrong length and in DER are rejected",
    arguments: [
      SignatureAlgorithm.es256, .es384, .es512, .es256k, .rs256, .ps256, .ed25519, .ed448,
    ])
  func psychicSignatures(algorithm: SignatureAlgorithm) async throws {
    let bench = try TokenBench()
    let parts = try bench.token(algorithm: algorithm).split(separator: ".")
    let good = try #require(Base64URL.decode(String(parts[2])))
    let bad: [[UInt8]] = [
      [UInt8](repeating: 0, count: good.count), [UInt8](repeating: 255, count: good.count), [0],
      Array(good.dropLast()), good + [0], [0] + good, good + good, [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00],
    ]
    for signature in bad {
      #expect(try await bench.code(of: "\(parts[0]).\(parts[1]).\(Base64URL.string(signature))") == "bad_signature")
    }
  }
}
