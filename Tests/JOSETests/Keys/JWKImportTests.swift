import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

@Suite("JWK: import and export")
struct JWKImportTests {
  @Test("The keys of RFC 7517, 7520 and 8037 are accepted, with their metadata", arguments: Vector.load("rfc-keys"))
  func publishedKeys(_ vector: Vector) throws {
    for members in try vector.keys() {
      let key = try JWK(json: members)
      #expect(key.keyID == members["kid"]?.stringValue)
      #expect(key.use == members["use"]?.stringValue)
      #expect(key.algorithm == members["alg"]?.stringValue)
      #expect(key.material.isSecret == (members["d"] != nil || members["k"] != nil))
      #expect(key.certificates.isEmpty == (members["x5c"] == nil))
    }
  }

  @Test("The thumbprints of RFC 7638 and 8037 come out", arguments: Vector.load("rfc-thumbprints"))
  func thumbprints(_ vector: Vector) throws {
    #expect(try vector.key().thumbprint == vector.string("thumbprint"))
  }

  static let pairs = [
    TestKeys.rsa, TestKeys.p256, TestKeys.p384, TestKeys.p521, TestKeys.secp256k1, TestKeys.ed25519, TestKeys.ed448,
    TestKeys.x25519,
  ]

  @Test("A public export has no private member, and its thumbprint is the pair's", arguments: pairs)
  func publicExport(_ key: JWK) throws {
    let json = try #require(key.publicJSON())
    for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] { #expect(json[name] == nil) }
    let copy = try JWK(json: json)
    #expect(copy.thumbprint == key.thumbprint && copy.keyID == key.keyID && !copy.material.isSecret)
  }

  @Test("A private export round-trips, and a private member of another key is noticed", arguments: pairs)
  func privateExport(_ key: JWK) throws {
    let json = try key.privateJSONRevealingSecrets()
    #expect(try JWK(json: json).material.isSecret)
    for name in ["d", "p", "q", "dp", "dq", "qi"] where json[name] != nil {
      var changed = json
      var bytes = try #require(Base64URL.decode(json[name]?.stringValue ?? ""))
      bytes[bytes.count - 1] ^= 2
      bytes[bytes.count / 2] ^= 2
      changed[name] = .string(Base64URL.string(bytes))
      // Montgomery and Edwards seeds are any bytes, but then the public half is another one.
      expectError(.invalidKey, "\(name)") { try JWK(json: changed) }
    }
  }

  @Test("A symmetric key is exported only on explicit request, and has no thumbprint that could leak it")
  func symmetricExport() throws {
    #expect(TestKeys.secret.publicJSON() == nil)
    #expect(TestKeys.secret.publicKey == nil)
    #expect(TestKeys.secret.thumbprint == nil)
    #expect(try TestKeys.secret.privateJSONRevealingSecrets()["k"] != nil)
  }

  @Test("Neither description nor dump of a key shows what is secret")
  func discretion() throws {
    for key in Self.pairs + [TestKeys.secret] {
      let json = try key.privateJSONRevealingSecrets()
      var text = "\(key) \(String(reflecting: key)) "
      dump(key, to: &text)
      for name in ["d", "p", "k"] {
        if let secret = json[name]?.stringValue { #expect(!text.contains(secret)) }
      }
    }
  }

  static func changed(_ key: JWK, _ change: (inout JSONObject) -> Void) throws -> JSONObject {
    var json = try #require(key.publicJSON())
    change(&json)
    return json
  }

  @Test("Key material of the wrong type, missing or empty makes a key unusable; optional members of it count as absent")
  func malformed() throws {
    for name in ["n", "e"] {
      for value: JSONValue? in [nil, 1, "", "====", "A", "+/", " AQAB", .some(.null)] {
        let json = try Self.changed(TestKeys.rsa) { $0[name] = value }
        expectError(.invalidKey, "\(name)") { try JWK(json: json) }
      }
    }
    for name in ["kid", "alg", "use", "key_ops", "x5t", "x5t#S256", "x5c", "oth", "d"] {
      for value: JSONValue in [.null, [], ""] {
        let json = try Self.changed(TestKeys.rsa) { $0[name] = value }
        #expect(throws: Never.self, "\(name) \(value)") { try JWK(json: json) }
      }
    }
    for (name, value) in [("kid", 1), ("alg", 1), ("use", [1]), ("key_ops", "verify"), ("key_ops", [1])]
      as [(String, JSONValue)]
    {
      let json = try Self.changed(TestKeys.rsa) { $0[name] = value }
      let key = try JWK(json: json)
      #expect(key.keyID == (name == "kid" ? nil : json["kid"]?.stringValue), "\(name)")
    }
    expectError(.invalidKey) { try JWK(json: ["kty": 1]) }
    expectError(.invalidKey) { try JWK(json: [:]) }
  }

  @Test("Unknown key types and curves are unsupported, not malformed", arguments: ["AKP", "rsa", "ec", "OCT", "x", ""])
  func unknownTypes(_ type: String) throws {
    let json = try Self.changed(TestKeys.rsa) { $0["kty"] = .string(type) }
    expectError(.algNotSupported) { try JWK(json: json) }
  }

  @Test(
    "A curve belongs to its key type", arguments: ["Ed25519", "P-257", "p-256", "brainpoolP256r1", "X448", "P-256K"])
  func unknownCurves(_ curve: String) throws {
    let json = try Self.changed(TestKeys.p256) { $0["crv"] = .string(curve) }
    expectError(.algNotSupported) { try JWK(json: json) }
    let octetPair = try Self.changed(TestKeys.ed25519) { $0["crv"] = "P-256" }
    expectError(.algNotSupported) { try JWK(json: octetPair) }
  }

  @Test("RSA numbers with an even modulus or an exponent of 1 or 2 are rejected; zeros before a number change nothing")
  func rsaNumbers() throws {
    let n = try #require(Base64URL.decode(TestKeys.rsa.publicJSON()?["n"]?.stringValue ?? ""))
    func rejected(_ name: String, _ bytes: [UInt8], _ code: JOSEError.Code) throws {
      let json = try Self.changed(TestKeys.rsa) { $0[name] = .string(Base64URL.string(bytes)) }
      expectError(code) { try JWK(json: json) }
    }
    for (name, bytes) in [("n", [0] + n), ("e", [0, 1, 0, 1])] {
      let json = try Self.changed(TestKeys.rsa) { $0[name] = .string(Base64URL.string(bytes)) }
      #expect(try JWK(json: json).thumbprint == TestKeys.rsa.thumbprint)
    }
    let text = Base64URL.string(n)
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    let padded = try Self.changed(TestKeys.rsa) { $0["n"] = .string(text + padding) }
    #expect(try JWK(json: padded).thumbprint == TestKeys.rsa.thumbprint)
    try rejected("n", Array(n.dropLast()) + [n[n.count - 1] & 0xfe], .invalidKey)
    try rejected("n", [UInt8](repeating: 0xff, count: 1025), .invalidKey)
    try rejected("e", [UInt8](repeating: 0xff, count: 9), .invalidKey)
    try rejected("e", [1], .weakKey)
    try rejected("e", [2], .weakKey)
    try rejected("e", [1, 0, 0], .weakKey)
  }

  @Test("EC coordinates must be on the curve and of full length")
  func coordinates() throws {
    for key in [TestKeys.p256, TestKeys.p384, TestKeys.p521, TestKeys.secp256k1] {
      let x = try #require(Base64URL.decode(key.publicJSON()?["x"]?.stringValue ?? ""))
      let variants: [[UInt8]] = [
        Array(x.dropFirst()), [0] + x, x.map { $0 ^ 1 }, [UInt8](repeating: 0, count: x.count),
        [UInt8](repeating: 0xff, count: x.count),
      ]
      for bytes in variants {
        let json = try Self.changed(key) { $0["x"] = .string(Base64URL.string(bytes)) }
        expectError(.invalidKey) { try JWK(json: json) }
      }
      let zero = Base64URL.string([UInt8](repeating: 0, count: x.count))
      let origin = try Self.changed(key) {
        $0["x"] = .string(zero)
        $0["y"] = .string(zero)
      }
      expectError(.invalidKey) { try JWK(json: origin) }
    }
  }

  @Test("Octet key pairs must have their curve's length")
  func octetLengths() throws {
    for key in [TestKeys.ed25519, TestKeys.ed448, TestKeys.x25519] {
      let x = try #require(Base64URL.decode(key.publicJSON()?["x"]?.stringValue ?? ""))
      for bytes in [Array(x.dropLast()), x + [0], [1]] {
        let json = try Self.changed(key) { $0["x"] = .string(Base64URL.string(bytes)) }
        expectError(.invalidKey) { try JWK(json: json) }
      }
    }
  }

  @Test("use and key_ops must agree, and no key both signs and encrypts")
  func consistency() throws {
    func rejected(_ use: JSONValue?, _ operations: JSONValue) throws {
      let json = try Self.changed(TestKeys.rsa) {
        $0["use"] = use
        $0["key_ops"] = operations
      }
      expectError(.invalidKey) { try JWK(json: json) }
    }
    try rejected("sig", ["encrypt"])
    try rejected("enc", ["verify"])
    try rejected(nil, ["verify", "encrypt"])
    try rejected(nil, ["sign", "unwrapKey"])
    let good = try Self.changed(TestKeys.rsa) {
      $0["use"] = "sig"
      $0["key_ops"] = ["verify", "urn:own"]
    }
    #expect(throws: Never.self) { try JWK(json: good) }
  }

  @Test("RSA private keys without d but with other private members, or with more primes, are rejected")
  func partialPrivateKeys() throws {
    var json = try TestKeys.rsa.privateJSONRevealingSecrets()
    json["oth"] = [["r": "AQAB"]]
    expectError(.algNotSupported) { try JWK(json: json) }
    json["oth"] = []
    #expect(throws: Never.self) { try JWK(json: json) }
    json["oth"] = nil
    json["d"] = nil
    expectError(.invalidKey) { try JWK(json: json) }
    var onlyExponent = try TestKeys.rsa.privateJSONRevealingSecrets()
    for name in ["p", "q", "dp", "dq", "qi"] { onlyExponent[name] = nil }
    expectError(.invalidKey) { try JWK(json: onlyExponent) }
  }
}
