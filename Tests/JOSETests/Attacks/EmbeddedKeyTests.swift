import JOSE
import PosternJSON
import Testing

@Suite("Attacks: keys that the sender brings")
struct EmbeddedKeyTests {
  @Test("A jwk in the header never verifies its own token (CVE-2018-0114, CVE-2026-27962)")
  func embeddedKeyIsIgnored() throws {
    let attacker = TestKeys.otherRSA
    let json = try #require(attacker.publicJSON())
    let token = try CompactJWS.sign(
      claims: ["sub": "admin"], with: attacker, algorithm: .rs256, header: ["jwk": .object(json), "kid": "rsa"])
    expectError(.badSignature) { try verify(token, keys: JWKSet([TestKeys.rsa])) }
    expectError(.keyNotFound) { try verify(token, keys: JWKSet([])) }
  }

  @Test(
    "rejectEmbeddedKeys rejects a header with a key or a reference to one", arguments: ["jwk", "jku", "x5u", "x5c"])
  func rejected(_ name: String) throws {
    let token = try CompactJWS.sign([1], with: TestKeys.p256, algorithm: .es256, header: [name: "x"])
    let jws = try CompactJWS(token)
    #expect(try jws.verifiedPayload(with: TestKeys.p256, algorithm: .es256) == [1])
    expectError(.forbiddenHeader) { try jws.header.rejectEmbeddedKeys() }
  }

  @Test("A proof of possession yields its public key, and no private or symmetric one")
  func proofKey() throws {
    func header(_ jwk: JSONValue?) throws -> JOSEHeader {
      var parameters: JSONObject = ["alg": "ES256"]
      parameters["jwk"] = jwk
      return try JOSEHeader(parameters: parameters)
    }
    let json = try #require(TestKeys.p256.publicJSON())
    #expect(try header(.object(json)).untrustedProofKey().thumbprint == TestKeys.p256.thumbprint)
    let revealed = try TestKeys.p256.privateJSONRevealingSecrets()
    expectError(.invalidKey) { try header(.object(revealed)).untrustedProofKey() }
    let secret = try TestKeys.secret.privateJSONRevealingSecrets()
    expectError(.invalidKey) { try header(.object(secret)).untrustedProofKey() }
    expectError(.malformedToken) { try header(nil).untrustedProofKey() }
    expectError(.malformedToken) { try header("x").untrustedProofKey() }
  }

  @Test(
    "A kid is compared, never interpreted", arguments: ["../../etc/passwd", "http://evil/", "' OR 1=1", "", "\u{212A}"])
  func keyIDIsData(_ keyID: String) throws {
    let token = try CompactJWS.sign(
      [1], with: TestKeys.p256, algorithm: .es256, header: ["kid": .string(keyID)])
    let keys = JWKSet([TestKeys.p256.identified(by: "K"), TestKeys.p256.identified(by: nil)])
    expectError(.keyNotFound) { try verify(token, keys: keys) }
    #expect(try verify(token, keys: JWKSet([TestKeys.p256.identified(by: keyID)])) == [1])
  }
}
