import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

@Suite("JWK: certificates")
struct CertificateTests {
  static func certified() throws -> JSONObject {
    let vector = try #require(Vector.load("rfc-keys").first { $0.string("name").contains("x5c") })
    return try #require(try vector.keys().first)
  }

  @Test("The certificate of RFC 7517 appendix B belongs to its key")
  func matching() throws {
    let key = try JWK(json: Self.certified())
    #expect(key.certificates.count == 1)
    #expect(key.publicJSON()?["x5c"]?.arrayValue?.count == 1)
  }

  @Test("A certificate for another key is rejected")
  func otherKey() throws {
    for key in [TestKeys.rsa, TestKeys.p256, TestKeys.ed25519] {
      var json = try #require(key.publicJSON())
      json["x5c"] = try Self.certified()["x5c"]
      expectError(.invalidKey) { try JWK(json: json) }
    }
  }

  @Test("an x5c that is no array of a few standard-base64 DER certificates counts as absent")
  func malformed() throws {
    let certificate = try #require(Self.certified()["x5c"]?.arrayValue?.first)
    let text = try #require(certificate.stringValue)
    let values: [JSONValue] = [
      "x", [], [1], ["x"], [""], [.string(text + "\n")], [.string(String(text.dropLast(4)))], [.string(text + "AAAA")],
      .string(text), [certificate, "MIIB"], .null,
    ]
    for value in values {
      var json = try Self.certified()
      json["x5c"] = value
      #expect(try JWK(json: json).certificates.isEmpty, "\(value)")
    }
  }

  @Test("Thumbprints must be those of the leaf; what is none, such as its hexadecimal text, counts as absent")
  func thumbprints() throws {
    var json = try Self.certified()
    let leaf = try #require(try JWK(json: json).certificates.first)
    let other = [UInt8](repeating: 1, count: 32)
    json["x5t#S256"] = .string(Base64URL.string(leaf.thumbprint(.sha256)))
    json["x5t"] = .string(Base64URL.string(leaf.thumbprint(.insecureSHA1)))
    #expect(throws: Never.self) { try JWK(json: json) }
    json["x5t#S256"] = .string(Base64URL.string(other))
    expectError(.invalidKey) { try JWK(json: json) }
    json["x5t#S256"] = nil
    json["x5t"] = .string(Base64URL.string(Array(other[..<20])))
    expectError(.invalidKey) { try JWK(json: json) }
    var plain = try #require(TestKeys.rsa.publicJSON())
    for value: JSONValue in [
      .string(Base64URL.string(other)), 1, .null, "", .string(Base64URL.string(Array("AB".utf8))),
    ] {
      plain["x5t"] = value
      #expect(throws: Never.self) { try JWK(json: plain) }
    }
  }
}
