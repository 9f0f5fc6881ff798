import JOSE
import PosternJSON
import PosternSupport
import Testing

@Suite("JWE, round trips")
struct EncryptionRoundTripTests {
  static let recipients: [(KeyManagementAlgorithm, JWK)] =
    [.rsaOAEP, .rsaOAEP256, .rsaOAEP384, .rsaOAEP512].map { ($0, TestKeys.rsa) }
    + [.ecdhES, .ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW].flatMap { algorithm in
      [TestKeys.p256, TestKeys.p384, TestKeys.p521, TestKeys.x25519].map { (algorithm, $0) }
    }
    + [
      (.a128KW, TestKeys.symmetric(16)), (.a192KW, TestKeys.symmetric(24)), (.a256KW, TestKeys.symmetric(32)),
      (.a128GCMKW, TestKeys.symmetric(16)), (.a192GCMKW, TestKeys.symmetric(24)),
      (.a256GCMKW, TestKeys.symmetric(32)), (.insecurePBES2HS256A128KW, TestKeys.symmetric(20)),
      (.insecurePBES2HS384A192KW, TestKeys.symmetric(20)), (.insecurePBES2HS512A256KW, TestKeys.symmetric(20)),
    ]

  @Test(
    "What is encrypted to a key decrypts with it, whatever the pair of algorithms", arguments: ContentEncryption.all)
  func roundTrip(_ encryption: ContentEncryption) throws {
    for (algorithm, key) in Self.recipients + [(.direct, TestKeys.symmetric(encryption.keyByteCount))] {
      for plaintext in [[], Array("x".utf8), [UInt8](repeating: 7, count: 1000)] {
        let recipient = key.publicKey ?? key
        let token = try CompactJWE.encrypt(plaintext, for: recipient, algorithm: algorithm, encryption: encryption)
        let jwe = try CompactJWE(token)
        #expect(jwe.header.keyID == key.keyID)
        #expect(
          try jwe.decrypt(with: key, algorithm: algorithm, encryption: encryption) == plaintext,
          "\(algorithm) \(encryption)")
      }
    }
  }

  @Test("Two encryptions of one plaintext have nothing in common but the header's fixed part")
  func freshness() throws {
    let plaintext = Array("long enough not to be the same by chance".utf8)
    let first = try CompactJWE.encrypt(plaintext, for: TestKeys.rsa, algorithm: .rsaOAEP256, encryption: .a256GCM)
    let second = try CompactJWE.encrypt(plaintext, for: TestKeys.rsa, algorithm: .rsaOAEP256, encryption: .a256GCM)
    let pairs = zip(first.split(separator: "."), second.split(separator: ".")).map { $0 == $1 }
    #expect(pairs == [true, false, false, false, false])
  }

  @Test("Party information is bound into an agreed key: another apu is another key")
  func partyInformation() throws {
    let token = try CompactJWE.encrypt(
      [1], for: TestKeys.p256, algorithm: .ecdhES, encryption: .a128GCM,
      header: ["apu": "QWxpY2U", "apv": "Qm9i", "cty": "JWT"])
    let jwe = try CompactJWE(token)
    #expect(jwe.header.isNested)
    #expect(try jwe.decrypt(with: TestKeys.p256, algorithm: .ecdhES, encryption: .a128GCM) == [1])
  }

  @Test(
    "A header must not bring the algorithm's own parameters",
    arguments: ["alg", "enc", "zip", "crit", "b64", "epk", "iv", "tag", "p2s", "p2c"])
  func reservedHeader(_ name: String) {
    expectError(.forbiddenHeader) {
      try CompactJWE.encrypt(
        [1], for: TestKeys.rsa, algorithm: .rsaOAEP, encryption: .a128GCM, header: [name: "x"])
    }
  }

  @Test("Keys of another type, size or purpose are rejected before anything is computed")
  func unsuitableKeys() throws {
    func encrypt(_ key: JWK, _ algorithm: KeyManagementAlgorithm) throws -> String {
      try CompactJWE.encrypt([1], for: key, algorithm: algorithm, encryption: .a128GCM)
    }
    expectError(.keyAlgMismatch) { try encrypt(TestKeys.p256, .rsaOAEP) }
    expectError(.keyAlgMismatch) { try encrypt(TestKeys.ed25519, .ecdhES) }
    expectError(.keyAlgMismatch) { try encrypt(TestKeys.secp256k1, .ecdhES) }
    expectError(.keyAlgMismatch) { try encrypt(TestKeys.symmetric(32), .a128KW) }
    expectError(.keyAlgMismatch) { try encrypt(TestKeys.symmetric(32), .direct) }
    expectError(.weakKey) { try encrypt(TestKeys.weakRSA, .rsaOAEP) }
    expectError(.keyAlgMismatch) { try encrypt(JWK(TestKeys.rsa.material, use: "sig"), .rsaOAEP) }
    expectError(.keyAlgMismatch) { try encrypt(JWK(TestKeys.rsa.material, operations: ["verify"]), .rsaOAEP) }
    let publicKey = try #require(TestKeys.rsa.publicKey)
    let token = try encrypt(publicKey, .rsaOAEP)
    expectError(.invalidKey) { try decrypt(token, key: publicKey) }
  }

  @Test("The key that Core section 10.2 derives from a client secret is the left part of a SHA-2 hash of its octets")
  func clientSecret() throws {
    let secret = Secret("secret")
    for (algorithm, count) in [(KeyManagementAlgorithm.a128KW, 16), (.a192KW, 24), (.a256KW, 32)] {
      let key = try #require(JWK.clientSecret(secret, algorithm: algorithm, encryption: .a128GCM))
      let token = try CompactJWE.encrypt([1], for: key, algorithm: algorithm, encryption: .a128GCM)
      #expect(try decrypt(token, key: key, allowed: [algorithm]) == [1])
      let json = try key.privateJSONRevealingSecrets()
      let bytes = try #require(json["k"]?.stringValue.flatMap { Base64URL.decode($0) })
      // SHA-256 of "secret".
      let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
      let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      #expect(bytes.count == count && hash.hasPrefix(hex))
    }
    let direct = try #require(JWK.clientSecret(secret, algorithm: .direct, encryption: .a256CBCHS512))
    let token = try CompactJWE.encrypt([1], for: direct, algorithm: .direct, encryption: .a256CBCHS512)
    #expect(try decrypt(token, key: direct, allowed: [.direct]) == [1])
    #expect(JWK.clientSecret(secret, algorithm: .rsaOAEP, encryption: .a128GCM) == nil)
  }
}
