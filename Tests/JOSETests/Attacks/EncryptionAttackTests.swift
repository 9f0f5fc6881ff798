import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

@Suite("Attacks: encrypted tokens")
struct EncryptionAttackTests {
  static func parts(_ token: String) -> [String] {
    token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }

  static func replacing(_ index: Int, of token: String, with bytes: [UInt8]) -> String {
    var parts = parts(token)
    parts[index] = Base64URL.string(bytes)
    return parts.joined(separator: ".")
  }

  static func rewritten(_ token: String, _ change: (inout JSONObject) -> Void) throws -> String {
    let header = try CompactJWE(token).header
    var parameters = header.parameters
    change(&parameters)
    return replacing(0, of: token, with: JSONWriter().write(.object(parameters)))
  }

  @Test("A tag shorter or longer than the algorithm's is rejected (CVE-2023-37464)", arguments: ContentEncryption.all)
  func tagLengths(_ encryption: ContentEncryption) throws {
    let token = try CompactJWE.encrypt([1, 2], for: TestKeys.rsa, algorithm: .rsaOAEP256, encryption: encryption)
    let tag = try #require(Base64URL.decode(Self.parts(token)[4]))
    for count in [0, 1, 4, 8, 12, tag.count - 1] {
      expectError(.decryptionFailed) {
        try decrypt(Self.replacing(4, of: token, with: Array(tag[..<count])), key: TestKeys.rsa)
      }
    }
    expectError(.decryptionFailed) { try decrypt(Self.replacing(4, of: token, with: tag + [0]), key: TestKeys.rsa) }
  }

  @Test("An initialization vector of another length is rejected", arguments: ContentEncryption.all)
  func vectorLengths(_ encryption: ContentEncryption) throws {
    let token = try CompactJWE.encrypt([1, 2], for: TestKeys.rsa, algorithm: .rsaOAEP256, encryption: encryption)
    let iv = try #require(Base64URL.decode(Self.parts(token)[2]))
    for variant in [[], Array(iv.dropLast()), iv + [0]] {
      expectError(.decryptionFailed) { try decrypt(Self.replacing(2, of: token, with: variant), key: TestKeys.rsa) }
    }
  }

  @Test("An encrypted key of any other length fails like any other fault and never traps (CVE-2026-34986)")
  func encryptedKeyLengths() throws {
    for (algorithm, key) in EncryptionRoundTripTests.recipients {
      let token = try CompactJWE.encrypt([1], for: key, algorithm: algorithm, encryption: .a128GCM)
      let encrypted = try #require(Base64URL.decode(Self.parts(token)[1]))
      for count in [0, 1, 7, 8, 15, 16, 17, 23, 24, 25, 32, 255, 256, 257] where count != encrypted.count {
        expectError(.decryptionFailed, "\(algorithm), \(count) bytes") {
          try decrypt(
            Self.replacing(1, of: token, with: [UInt8](repeating: 7, count: count)), key: key, allowed: [algorithm])
        }
      }
    }
    let secret = TestKeys.symmetric(16)
    let direct = try CompactJWE.encrypt([1], for: secret, algorithm: .direct, encryption: .a128GCM)
    expectError(.decryptionFailed) {
      try decrypt(Self.replacing(1, of: direct, with: [1]), key: secret, allowed: [.direct])
    }
  }

  @Test("Every fault of the key step and of the content is one and the same error (RFC 7516 section 11.5)")
  func oneError() throws {
    let token = try CompactJWE.encrypt([1], for: TestKeys.rsa, algorithm: .rsaOAEP, encryption: .a128GCM)
    let wrongKey = try CompactJWE.encrypt([1], for: TestKeys.otherRSA, algorithm: .rsaOAEP, encryption: .a128GCM)
    let longKey = try CompactJWE.encrypt([1], for: TestKeys.rsa, algorithm: .rsaOAEP, encryption: .a256GCM)
    let spliced = Self.parts(token).enumerated().map { $0 == 1 ? Self.parts(longKey)[1] : $1 }.joined(separator: ".")
    var messages: Set<String> = []
    // Two bytes: a single one may be the one that is there.
    for broken in [
      wrongKey, spliced, Self.replacing(3, of: token, with: [9, 9]), Self.replacing(4, of: token, with: []),
    ] {
      do {
        _ = try decrypt(broken, key: TestKeys.rsa)
        Issue.record("decrypted")
      } catch let error as JOSEError {
        messages.insert(error.description)
      }
    }
    #expect(messages.count == 1)
  }

  @Test("No single-bit change of an encrypted token decrypts")
  func singleBits() throws {
    let secret = TestKeys.symmetric(32)
    for encryption in [ContentEncryption.a256GCM, .a128CBCHS256] {
      let key = encryption == .a256GCM ? secret : TestKeys.symmetric(32)
      let token = Array(
        try CompactJWE.encrypt(Array("hello".utf8), for: key, algorithm: .a256KW, encryption: encryption).utf8)
      for position in token.indices {
        for bit in 0..<8 {
          var changed = token
          changed[position] ^= 1 << UInt8(bit)
          let text = String(decoding: changed, as: UTF8.self)
          #expect(throws: JOSEError.self, "byte \(position), bit \(bit)") {
            try decrypt(text, key: key, allowed: [.a256KW])
          }
        }
      }
    }
  }

  @Test("An ephemeral key off the curve, on another curve, with a private part or of another kind is rejected")
  func ephemeralKeys() throws {
    let token = try CompactJWE.encrypt([1], for: TestKeys.p256, algorithm: .ecdhES, encryption: .a128GCM)
    let epk = try #require(CompactJWE(token).header.parameters["epk"]?.objectValue)
    var offCurve = epk
    offCurve["y"] = epk["x"]
    var short = epk
    short["x"] = "AA"
    let others: [JSONValue?] = [
      nil, "x", .object(offCurve), .object(short), TestKeys.p384.publicJSON().map { .object($0) },
      TestKeys.x25519.publicJSON().map { .object($0) }, TestKeys.rsa.publicJSON().map { .object($0) },
      .object(try TestKeys.p256.privateJSONRevealingSecrets()),
    ]
    for value in others {
      let broken = try Self.rewritten(token) { $0["epk"] = value }
      expectError(.decryptionFailed) { try decrypt(broken, key: TestKeys.p256) }
    }
  }

  @Test("X25519 points of small order, whose shared secret is known to everyone, are rejected")
  func smallOrder() throws {
    let token = try CompactJWE.encrypt([1], for: TestKeys.x25519, algorithm: .ecdhES, encryption: .a128GCM)
    for first: UInt8 in [0, 1] {
      let point = [first] + [UInt8](repeating: 0, count: 31)
      let broken = try Self.rewritten(token) {
        $0["epk"] = ["kty": "OKP", "crv": "X25519", "x": .string(Base64URL.string(point))]
      }
      expectError(.decryptionFailed) { try decrypt(broken, key: TestKeys.x25519) }
    }
  }

  @Test("A PBES2 count beyond the cap is rejected without being computed (CVE-2023-52428)", .timeLimit(.minutes(1)))
  func iterationBomb() throws {
    let key = TestKeys.symmetric(16)
    let allowed = KeyManagementAlgorithm.insecurePasswordBased
    let token = try CompactJWE.encrypt(
      [1], for: key, algorithm: .insecurePBES2HS256A128KW, encryption: .a128GCM)
    #expect(try decrypt(token, key: key, allowed: allowed) == [1])
    let counts: [JSONValue] = [10_001, 2_147_483_647, 9_223_372_036_854_775_807, 0, -1, 999, "1000", 4096.5]
    for count in counts {
      let broken = try Self.rewritten(token) { $0["p2c"] = count }
      expectError(.decryptionFailed, "\(count)") { try decrypt(broken, key: key, allowed: allowed) }
    }
    let shortSalt = try Self.rewritten(token) { $0["p2s"] = "AAAA" }
    expectError(.decryptionFailed) { try decrypt(shortSalt, key: key, allowed: allowed) }
  }

  @Test("Password-based and shared-key algorithms are off unless they are named, RSA1_5 always")
  func defaults() throws {
    for (algorithm, key) in EncryptionRoundTripTests.recipients where algorithm.isSymmetric {
      let token = try CompactJWE.encrypt([1], for: key, algorithm: algorithm, encryption: .a128GCM)
      expectError(.algNotAllowed) { try decrypt(token, key: key) }
    }
    #expect(KeyManagementAlgorithm(name: "RSA1_5") == nil)
    #expect(!KeyManagementAlgorithm.symmetric.contains { $0.name.hasPrefix("PBES2") })
  }

  @Test("Compressed content is rejected, whatever it would expand to (CVE-2024-28176)")
  func compression() throws {
    let token = try CompactJWE.encrypt([1], for: TestKeys.rsa, algorithm: .rsaOAEP, encryption: .a128GCM)
    for value: JSONValue in ["DEF", "GZIP", nil, 1] {
      let broken = try Self.rewritten(token) { $0["zip"] = value }
      expectError(.algNotSupported) { try CompactJWE(broken) }
    }
  }

  @Test("enc must be there, a string, and in the list")
  func contentEncryptionName() throws {
    let token = try CompactJWE.encrypt([1], for: TestKeys.rsa, algorithm: .rsaOAEP, encryption: .a128GCM)
    for value: JSONValue? in [nil, 1, [], .some(.null)] {
      let broken = try Self.rewritten(token) { $0["enc"] = value }
      expectError(.malformedToken) { try CompactJWE(broken) }
    }
    for name in ["a128gcm", "A128GCM ", "A128CBC", "none"] {
      let broken = try Self.rewritten(token) { $0["enc"] = .string(name) }
      expectError(.algNotAllowed) { try CompactJWE(broken).algorithms() }
    }
    expectError(.algNotAllowed) { try CompactJWE(token).algorithms(encryptions: [.a256GCM]) }
  }
}
