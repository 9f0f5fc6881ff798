import JOSE
import PosternJSON
import Testing

@Suite("JWS, round trips")
struct SignatureRoundTripTests {
  @Test("What an algorithm signs it verifies, and not under another payload", arguments: SignatureAlgorithm.all)
  func roundTrip(_ algorithm: SignatureAlgorithm) throws {
    let key = TestKeys.signing(algorithm)
    let token = try CompactJWS.sign(claims: ["sub": "1"], with: key, algorithm: algorithm)
    let jws = try CompactJWS(token)
    #expect(jws.header.algorithm == algorithm.name)
    #expect(jws.header.keyID == key.keyID)
    #expect(try jws.verifiedPayload(with: key, algorithm: algorithm) == Array(#"{"sub":"1"}"#.utf8))
    let other = try CompactJWS.sign(claims: ["sub": "2"], with: key, algorithm: algorithm)
    let (mine, theirs) = (token.split(separator: "."), other.split(separator: "."))
    expectError(.badSignature) {
      try CompactJWS("\(mine[0]).\(theirs[1]).\(mine[2])").verifiedPayload(with: key, algorithm: algorithm)
    }
  }

  @Test("EdDSA signs with an Ed448 key too, because the curve is the key's")
  func polymorphic() throws {
    let token = try CompactJWS.sign([1], with: TestKeys.ed448, algorithm: .edDSA)
    #expect(try CompactJWS(token).verifiedPayload(with: TestKeys.ed448, algorithm: .edDSA) == [1])
  }

  @Test("A key pair that went through JSON signs what the original verifies", arguments: SignatureAlgorithm.all)
  func exportedKeys(_ algorithm: SignatureAlgorithm) throws {
    let key = TestKeys.signing(algorithm)
    let copy = try JWK(json: key.privateJSONRevealingSecrets())
    let token = try CompactJWS.sign([1, 2], with: copy, algorithm: algorithm)
    #expect(try CompactJWS(token).verifiedPayload(with: key, algorithm: algorithm) == [1, 2])
    #expect(copy.thumbprint == key.thumbprint)
  }

  @Test("A header with parameters of its own keeps their order behind alg and kid")
  func headerOrder() throws {
    let token = try CompactJWS.sign(
      [1], with: TestKeys.p256, algorithm: .es256, header: ["typ": "dpop+jwt", "x": 1, "kid": "mine"])
    let header = try CompactJWS(token).header
    #expect(header.parameters.names == ["alg", "kid", "typ", "x"])
    #expect(header.keyID == "mine")
  }

  @Test("A header must not bring its own alg or an extension", arguments: ["alg", "crit", "b64"])
  func reservedHeader(_ name: String) {
    expectError(.forbiddenHeader) {
      try CompactJWS.sign([1], with: TestKeys.p256, algorithm: .es256, header: [name: "x"])
    }
  }

  @Test("A public key, a key of another type, a weak one and one for other uses do not sign")
  func unsuitableKeys() throws {
    let publicKey = try #require(TestKeys.p256.publicKey)
    expectError(.invalidKey) { try CompactJWS.sign([1], with: publicKey, algorithm: .es256) }
    expectError(.keyAlgMismatch) { try CompactJWS.sign([1], with: TestKeys.rsa, algorithm: .es256) }
    expectError(.keyAlgMismatch) { try CompactJWS.sign([1], with: TestKeys.p256, algorithm: .es384) }
    expectError(.weakKey) { try CompactJWS.sign([1], with: TestKeys.weakRSA, algorithm: .rs256) }
    expectError(.weakKey) { try CompactJWS.sign([1], with: TestKeys.symmetric(31), algorithm: .hs256) }
    let encryption = JWK(TestKeys.p256.material, use: "enc")
    expectError(.keyAlgMismatch) { try CompactJWS.sign([1], with: encryption, algorithm: .es256) }
    let verifying = JWK(TestKeys.p256.material, operations: ["verify"])
    expectError(.keyAlgMismatch) { try CompactJWS.sign([1], with: verifying, algorithm: .es256) }
    let otherAlgorithm = JWK(TestKeys.rsa.material, algorithm: "RS512")
    expectError(.keyAlgMismatch) { try CompactJWS.sign([1], with: otherAlgorithm, algorithm: .rs256) }
  }
}
