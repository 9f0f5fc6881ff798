import PosternJSON
import Testing

@testable import JOSE

/// Published examples in which one thing is inside another, or in which a part is left out on purpose.
@Suite("Tokens, published compositions")
struct PublishedCompositionTests {
  static func vector(_ file: String, _ name: String) throws -> Vector {
    try #require(Vector.load(file).first { $0.string("name") == name })
  }

  static func decrypted(_ vector: Vector) throws -> [UInt8] {
    let (algorithm, encryption) = try PublishedEncryptionTests.algorithms(vector)
    return try CompactJWE(vector.string("token"))
      .decrypt(with: vector.key(), algorithm: algorithm, encryption: encryption)
  }

  @Test("RFC 7517 appendix C: the decrypted JWK is the key of C.1, its private half included")
  func encryptedKey() throws {
    let text = try Self.decrypted(Self.vector("rfc-jwe", "RFC 7517 C"))
    let key = try JWK(json: #require(JSONParser().parse(text).objectValue))
    let published = try JWK(json: #require(Self.vector("rfc-keys", "RFC 7517 C.1").keys().first))
    #expect(key.thumbprint == published.thumbprint && key.keyID == "juliet@capulet.lit" && key.material.isSecret)
  }

  @Test("RFC 7520 section 6: what is decrypted is the signed token, which verifies")
  func nested() throws {
    let jwe = try Self.vector("rfc-jwe", "RFC 7520 6 (nested)")
    #expect(try CompactJWE(jwe.string("token")).header.isNested)
    let text = String(decoding: try Self.decrypted(jwe), as: UTF8.self)
    let inner = try Self.vector("rfc-jws", "RFC 7520 6 (inner)")
    #expect(text == inner.string("token"))
    let claims = try verify(text, keys: JWKSet([inner.key()]), allowed: [.ps256])
    #expect(claims == inner.bytes("payload"))
  }

  @Test("RFC 7520 4.5, detached content, does not verify as a token without content")
  func detached() throws {
    let whole = try Self.vector("rfc-jws", "RFC 7520 4.4")
    let parts = whole.string("token").split(separator: ".")
    let jws = try CompactJWS("\(parts[0])..\(parts[2])")
    #expect(jws.payload.isEmpty)
    expectError(.badSignature) { try jws.verifiedPayload(with: whole.key(), algorithm: .hs256) }
  }

  @Test("RFC 7797 4.2, an unencoded payload, is rejected by its crit, detached or not")
  func unencoded() throws {
    let header = "eyJhbGciOiJIUzI1NiIsImI2NCI6ZmFsc2UsImNyaXQiOlsiYjY0Il19"
    let signature = "A5dxf2s96_n5FLueVuW1Z_vh161FwXZC4YLPff6dmDY"
    for payload in ["", "JC4wMg"] {
      expectError(.unsupportedCrit) { try CompactJWS("\(header).\(payload).\(signature)") }
    }
    expectError(.malformedToken) { try CompactJWS("\(header).$.02.\(signature)") }
  }
}
