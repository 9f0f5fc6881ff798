import JOSE
import PosternJSON
import Testing

@Suite("JWK Sets: choice of the key")
struct KeySelectionTests {
  static func header(_ keyID: String?) throws -> JOSEHeader {
    var parameters: JSONObject = ["alg": "RS256"]
    parameters["kid"] = keyID.map { .string($0) }
    return try JOSEHeader(parameters: parameters)
  }

  static func choose(_ keyID: String?, _ algorithm: SignatureAlgorithm, _ keys: [JWK]) throws -> JWK {
    try JWKSet(keys).verificationKey(for: header(keyID), algorithm: algorithm)
  }

  @Test("The kid decides, and the same kid on another type of key does not confuse")
  func byKeyID() throws {
    let keys = [TestKeys.rsa.identified(by: "a"), TestKeys.p256.identified(by: "a"), TestKeys.otherRSA]
    #expect(try Self.choose("a", .rs256, keys).keyType == .rsa)
    #expect(try Self.choose("a", .es256, keys).keyType == .ec)
    #expect(try Self.choose("other-rsa", .rs256, keys).keyID == "other-rsa")
  }

  @Test("An unknown kid is not found: no default key, not even an only one without kid")
  func unknownKeyID() throws {
    expectError(.keyNotFound) { try Self.choose("b", .rs256, [TestKeys.rsa]) }
    expectError(.keyNotFound) { try Self.choose("b", .rs256, [TestKeys.rsa.identified(by: nil)]) }
    expectError(.keyNotFound) { try Self.choose("b", .rs256, []) }
    expectError(.keyNotFound) { try Self.choose("RSA", .rs256, [TestKeys.rsa]) }
  }

  @Test("Without a kid exactly one key must fit")
  func withoutKeyID() throws {
    #expect(try Self.choose(nil, .rs256, [TestKeys.rsa, TestKeys.p256, TestKeys.x25519]).keyType == .rsa)
    expectError(.keyAmbiguous) { try Self.choose(nil, .rs256, [TestKeys.rsa, TestKeys.otherRSA]) }
    expectError(.keyNotFound) { try Self.choose(nil, .es384, [TestKeys.rsa, TestKeys.p256]) }
    expectError(.keyNotFound) { try Self.choose(nil, .rs256, []) }
    expectError(.keyAlgMismatch) { try Self.choose(nil, .rs256, [TestKeys.p256]) }
  }

  @Test("The same kid twice on keys that both fit is ambiguous, even for one key given twice")
  func repeatedKeyID() {
    let keys = [TestKeys.rsa.identified(by: "a"), TestKeys.otherRSA.identified(by: "a")]
    expectError(.keyAmbiguous) { try Self.choose("a", .rs256, keys) }
    expectError(.keyAmbiguous) { try Self.choose("rsa", .rs256, [TestKeys.rsa, TestKeys.rsa]) }
  }

  @Test("The kid's key of another type, curve or alg is a mismatch, not an unknown key")
  func mismatch() {
    expectError(.keyAlgMismatch) { try Self.choose("p256", .rs256, [TestKeys.p256]) }
    expectError(.keyAlgMismatch) { try Self.choose("p256", .es384, [TestKeys.p256]) }
    expectError(.keyAlgMismatch) { try Self.choose("x25519", .edDSA, [TestKeys.x25519]) }
    let other = JWK(TestKeys.rsa.material, keyID: "rsa", algorithm: "RS384")
    expectError(.keyAlgMismatch) { try Self.choose("rsa", .rs256, [other]) }
  }

  @Test("use and key_ops filter: keys for other things are not there")
  func purposes() throws {
    let encryption = JWK(TestKeys.otherRSA.material, keyID: "rsa", use: "enc")
    let signing = JWK(TestKeys.otherRSA.material, keyID: "rsa", operations: ["sign"])
    let own = JWK(TestKeys.otherRSA.material, keyID: "rsa", use: "own")
    expectError(.keyNotFound) { try Self.choose("rsa", .rs256, [encryption, signing, own]) }
    let chosen = try Self.choose("rsa", .rs256, [encryption, signing, own, TestKeys.rsa])
    #expect(chosen.thumbprint == TestKeys.rsa.thumbprint)
    let verifying = JWK(TestKeys.rsa.material, keyID: "rsa", use: "sig", operations: ["verify"])
    #expect(try Self.choose("rsa", .rs256, [verifying]).use == "sig")
  }

  @Test("The kid of a rejected entry gives the reason of that entry; that of an ignored one is unknown")
  func rejectedEntries() throws {
    let broken = try JWKSetTests.entry(TestKeys.p256) { $0["x"] = $0["y"] }
    let unknown: JSONValue = ["kty": "AKP", "kid": "pq"]
    let secret = JSONValue.object(try TestKeys.secret.privateJSONRevealingSecrets())
    let set = try JWKSetTests.set([broken, unknown, secret, JWKSetTests.entry(TestKeys.rsa)])
    func choose(_ keyID: String?) throws -> JWK {
      try set.verificationKey(for: Self.header(keyID), algorithm: .es256)
    }
    expectError(.invalidKey) { try choose("p256") }
    expectError(.algNotSupported) { try choose("pq") }
    expectError(.keyNotFound) { try choose("secret") }
    expectError(.keyAlgMismatch) { try choose("rsa") }
    let only = try JWKSetTests.set([broken])
    expectError(.invalidKey) { try only.verificationKey(for: Self.header(nil), algorithm: .es256) }
  }

  @Test("Keys for decryption and encryption are chosen by the same rules")
  func encryptionKeys() throws {
    let set = JWKSet([TestKeys.rsa, TestKeys.p256, TestKeys.x25519, JWK(TestKeys.otherRSA.material, use: "sig")])
    let token = try CompactJWE.encrypt([1], for: TestKeys.rsa, algorithm: .rsaOAEP, encryption: .a128GCM)
    let header = try CompactJWE(token).header
    #expect(try set.decryptionKey(for: header, algorithm: .rsaOAEP, encryption: .a128GCM).keyID == "rsa")
    #expect(try set.encryptionKey(algorithm: .rsaOAEP, encryption: .a128GCM).keyID == "rsa")
    expectError(.keyAmbiguous) { try set.encryptionKey(algorithm: .ecdhES, encryption: .a128GCM) }
    #expect(try set.encryptionKey(keyID: "p256", algorithm: .ecdhES, encryption: .a128GCM).keyID == "p256")
    expectError(.keyAlgMismatch) { try set.encryptionKey(keyID: "rsa", algorithm: .ecdhES, encryption: .a128GCM) }
  }

  @Test("A weak key is selected, then rejected as weak")
  func weakKeys() throws {
    let token = compact(#"{"alg":"RS256","kid":"weak"}"#, "{}", [UInt8](repeating: 1, count: 128))
    expectError(.weakKey) { try verify(token, keys: JWKSet([TestKeys.weakRSA])) }
    let short = compact(#"{"alg":"HS512","kid":"secret"}"#, "{}", [UInt8](repeating: 1, count: 64))
    expectError(.weakKey) { try verify(short, keys: JWKSet([TestKeys.symmetric(63)])) }
  }
}
