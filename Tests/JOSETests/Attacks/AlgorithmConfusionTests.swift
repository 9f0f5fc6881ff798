import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

@Suite("Attacks: algorithm and key confusion")
struct AlgorithmConfusionTests {
  static let claims: JSONObject = ["sub": "admin"]

  @Test(
    "No spelling of none passes, with or without a signature part (GHSA-88q6-jcjg-hvmw)",
    arguments: ["none", "None", "NONE", "nOnE", "none ", " none", "none\u{0}", "n\u{f6}ne", ""])
  func noneIsRejected(_ name: String) {
    let header = JSONWriter().string(.object(["alg": .string(name)]))
    for signature: [UInt8] in [[0], [UInt8](repeating: 0, count: 256)] {
      #expect(throws: JOSEError.self) {
        try verify(compact(header, #"{"sub":"admin"}"#, signature), keys: JWKSet([TestKeys.rsa, TestKeys.secret]))
      }
    }
    let unsigned = compact(header, #"{"sub":"admin"}"#, [])
    let isSpelling = ["none", "None", "NONE", "nOnE"].contains(name)
    expectError(isSpelling ? .algNotAllowed : .malformedToken) { try CompactJWS(unsigned) }
    #expect(SignatureAlgorithm(name: name) == nil)
    #expect(KeyManagementAlgorithm(name: name) == nil)
  }

  @Test("A published key's bytes, in every form, are no HMAC secret (CVE-2022-29217, CVE-2026-48526)")
  func publicKeyAsSecret() throws {
    let key = try #require(TestKeys.rsa.publicKey)
    let json = try #require(key.publicJSON())
    let forms: [[UInt8]] = [
      JSONWriter().write(.object(json)), Array((json["n"]?.stringValue ?? "").utf8),
      try #require(Base64URL.decode(json["n"]?.stringValue ?? "")),
    ]
    for secret in forms {
      let forged = try CompactJWS.sign(
        claims: Self.claims, with: .symmetric(secret, keyID: key.keyID), algorithm: .hs256)
      expectError(.keyAlgMismatch) { try verify(forged, keys: JWKSet([key])) }
      expectError(.algNotAllowed) {
        try verify(forged, keys: JWKSet([key]), allowed: SignatureAlgorithm.asymmetric)
      }
      let jws = try CompactJWS(forged)
      expectError(.keyAlgMismatch) { try jws.verifiedPayload(with: key, algorithm: .hs256) }
    }
  }

  @Test("An RSA key without alg does not verify HMAC, and no empty secret does either (GHSA-q843-6q5f-w55g)")
  func emptySecret() throws {
    expectError(.weakKey) { try CompactJWS.sign([1], with: .symmetric([]), algorithm: .hs256) }
    let forged = compact(#"{"alg":"HS256"}"#, "{}", [UInt8](repeating: 0, count: 32))
    expectError(.weakKey) {
      try CompactJWS(forged).verifiedPayload(with: .symmetric([]), algorithm: .hs256)
    }
  }

  @Test("Every algorithm rejects the keys of every other family", arguments: SignatureAlgorithm.all)
  func familiesDoNotMix(_ algorithm: SignatureAlgorithm) throws {
    let others = [
      TestKeys.rsa, TestKeys.p256, TestKeys.p384, TestKeys.p521, TestKeys.secp256k1, TestKeys.ed25519, TestKeys.ed448,
      TestKeys.x25519, TestKeys.secret,
    ]
    let own = TestKeys.signing(algorithm)
    let jws = try CompactJWS(CompactJWS.sign([1], with: own, algorithm: algorithm))
    for key in others where key.keyID != own.keyID && !(algorithm == .edDSA && key.keyID == "ed448") {
      expectError(.keyAlgMismatch, "\(key)") { try jws.verifiedPayload(with: key, algorithm: algorithm) }
    }
  }

  @Test("The algorithm's name decides only by being in the list: another case, space or look-alike is not in it")
  func namesAreExact() {
    for name in ["rs256", "RS256 ", " RS256", "RS-256", "ES256\u{212A}", "Rs256", "HS256\u{200b}"] {
      expectError(.algNotAllowed, "\(name)") {
        try SignatureAlgorithm.resolve(name, allowed: SignatureAlgorithm.all)
      }
    }
    for name in ["A128\u{212A}W", "RSA1_5", "rsa-oaep", "DIR"] { #expect(KeyManagementAlgorithm(name: name) == nil) }
  }

  @Test("The token's algorithm never widens the list (CVE-2026-13089, CVE-2026-22817)")
  func listIsTheCallers() throws {
    let token = try CompactJWS.sign(claims: Self.claims, with: TestKeys.rsa, algorithm: .ps256)
    expectError(.algNotAllowed) { try verify(token, keys: JWKSet([TestKeys.rsa]), allowed: [.rs256]) }
    expectError(.algNotAllowed) { try verify(token, keys: JWKSet([TestKeys.rsa]), allowed: []) }
    // And the verifier cannot be given another algorithm than the header's.
    let jws = try CompactJWS(token)
    expectError(.algNotAllowed) { try jws.verifiedPayload(with: TestKeys.rsa, algorithm: .rs256) }
  }

  @Test("A key with an alg is for that alg alone, within the family too")
  func keyAlgorithmIsExact() throws {
    let key = JWK(TestKeys.rsa.material, keyID: "rsa", algorithm: "PS256")
    let token = try CompactJWS.sign(claims: Self.claims, with: TestKeys.rsa, algorithm: .rs256)
    expectError(.keyAlgMismatch) { try verify(token, keys: JWKSet([key])) }
    expectError(.keyAlgMismatch) { try CompactJWS(token).verifiedPayload(with: key, algorithm: .rs256) }
  }

  @Test("EdDSA in a list stands for both curves (RFC 8037), the two names of RFC 9864 each for its own")
  func polymorphicName() throws {
    #expect(try SignatureAlgorithm.resolve("Ed25519", allowed: [.edDSA]) == .ed25519)
    let narrowed = try SignatureAlgorithm.resolve("EdDSA", allowed: [.ed25519])
    #expect(narrowed.name == "EdDSA")
    #expect(try SignatureAlgorithm.resolve("Ed448", allowed: [.edDSA]) == .ed448)
    #expect(try SignatureAlgorithm.resolve("Ed448", allowed: [.ed448, .edDSA]) == .ed448)
    expectError(.algNotAllowed) { try SignatureAlgorithm.resolve("Ed448", allowed: [.ed25519]) }
    expectError(.algNotAllowed) { try SignatureAlgorithm.resolve("Ed25519", allowed: [.ed448]) }
    let token = try CompactJWS.sign([1], with: TestKeys.ed448, algorithm: .edDSA)
    expectError(.keyAlgMismatch) { try verify(token, keys: JWKSet([TestKeys.ed448]), allowed: [.ed25519]) }
    for allowed in [[SignatureAlgorithm.edDSA], [.ed448], [.edDSA, .ed448]] {
      #expect(try verify(token, keys: JWKSet([TestKeys.ed448]), allowed: allowed) == [1])
    }
    expectError(.keyAlgMismatch) {
      try verify(
        token, keys: JWKSet([JWK(TestKeys.ed448.material, keyID: TestKeys.ed448.keyID, algorithm: "Ed448")]),
        allowed: [.edDSA])
    }
  }

  @Test("ML-DSA is reported as unsupported, not as forbidden", arguments: ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"])
  func postQuantum(_ name: String) {
    expectError(.algNotSupported) { try SignatureAlgorithm.resolve(name, allowed: SignatureAlgorithm.all) }
  }

  @Test("A key for encryption never verifies, a key for signatures never decrypts (CVE-2023-51774)")
  func purposesDoNotMix() throws {
    let token = try CompactJWS.sign([1], with: TestKeys.rsa, algorithm: .rs256)
    let encryption = JWK(TestKeys.rsa.material, keyID: "rsa", use: "enc")
    expectError(.keyAlgMismatch) { try CompactJWS(token).verifiedPayload(with: encryption, algorithm: .rs256) }
    expectError(.keyNotFound) { try verify(token, keys: JWKSet([encryption])) }
    let jwe = try CompactJWE.encrypt([1], for: TestKeys.rsa, algorithm: .rsaOAEP, encryption: .a128GCM)
    expectError(.keyAlgMismatch) { try decrypt(jwe, key: JWK(TestKeys.rsa.material, use: "sig")) }
    expectError(.keyAlgMismatch) { try decrypt(jwe, key: JWK(TestKeys.rsa.material, operations: ["sign"])) }
  }

  @Test("A signed token is no encrypted one and the other way round")
  func serializationsDoNotMix() throws {
    let jws = try CompactJWS.sign([1], with: TestKeys.rsa, algorithm: .rs256)
    let jwe = try CompactJWE.encrypt([1], for: TestKeys.rsa, algorithm: .rsaOAEP, encryption: .a128GCM)
    expectError(.malformedToken) { try CompactJWE(jws) }
    expectError(.malformedToken) { try CompactJWS(jwe) }
    #expect(try CompactSerialization(jws).kind == .jws)
    #expect(try CompactSerialization(jwe).kind == .jwe)
  }
}
