import JOSE
import PosternJSON
import Testing

@Suite("JWE, published vectors")
struct PublishedEncryptionTests {
  static func algorithms(_ vector: Vector) throws -> (KeyManagementAlgorithm, ContentEncryption) {
    (
      try #require(KeyManagementAlgorithm(name: vector.string("alg"))),
      try #require(ContentEncryption(name: vector.string("enc")))
    )
  }

  @Test("The examples of RFC 7516, 7517 and 7520 decrypt to their plaintext", arguments: Vector.load("rfc-jwe"))
  func decrypts(_ vector: Vector) throws {
    let (algorithm, encryption) = try Self.algorithms(vector)
    let jwe = try CompactJWE(vector.string("token"))
    let resolved = try jwe.algorithms(allowed: [algorithm], encryptions: [encryption])
    #expect(resolved.algorithm == algorithm && resolved.encryption == encryption)
    let plaintext = try jwe.decrypt(with: vector.key(), algorithm: algorithm, encryption: encryption)
    #expect(plaintext == vector.bytes("plaintext"))
  }

  @Test(
    "The examples with RSA1_5 and with compression are rejected by name, never tried",
    arguments: Vector.load("rfc-jwe-rejected"))
  func rejects(_ vector: Vector) throws {
    expectError(JOSEError.Code(rawValue: vector.string("code"))) {
      try CompactJWE(vector.string("token")).algorithms(
        allowed: KeyManagementAlgorithm.asymmetric + KeyManagementAlgorithm.symmetric
          + KeyManagementAlgorithm.insecurePasswordBased)
    }
  }

  @Test(
    "Tokens that joserfc, jwcrypto and pyca/cryptography made (generated for this test, not published) decrypt",
    arguments: Vector.load("interop-jwe"))
  func decryptsOthers(_ vector: Vector) throws {
    let (algorithm, encryption) = try Self.algorithms(vector)
    let plaintext = try CompactJWE(vector.string("token"))
      .decrypt(with: vector.key(), algorithm: algorithm, encryption: encryption)
    #expect(plaintext == vector.bytes("plaintext"))
  }
}
