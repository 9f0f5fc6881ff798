import JOSE
import PosternJSON
import Testing

@Suite("JWK: key_ops")
struct KeyOperationsTests {
  @Test("An operation's name is compared byte by byte: with the Kelvin sign for K it is another name")
  func canonicalEquivalents() throws {
    var json = try TestKeys.rsa.privateJSONRevealingSecrets()
    json["key_ops"] = ["unwrap\u{212A}ey"]
    let key = try JWK(json: json)
    let token = try CompactJWE.encrypt(
      [1], for: #require(TestKeys.rsa.publicKey), algorithm: .rsaOAEP256, encryption: .a128GCM)
    expectError(.keyAlgMismatch) {
      try CompactJWE(token).decrypt(with: key, algorithm: .rsaOAEP256, encryption: .a128GCM)
    }
    expectError(.keyNotFound) {
      try JWKSet([key]).decryptionKey(
        for: CompactJWE(token).header, algorithm: .rsaOAEP256, encryption: .a128GCM)
    }
  }

  @Test("Names are compared by their bytes, and an unknown one next to a known one is no contradiction")
  func distinctNames() throws {
    var json = try #require(TestKeys.rsa.publicJSON())
    json["key_ops"] = ["unwrap\u{212A}ey", "unwrapKey"]
    #expect(try JWK(json: json).operations?.count == 2)
    json["key_ops"] = ["unwrap\u{212A}ey", "verify"]
    #expect(try JWK(json: json).operations?.count == 2)
  }
}
