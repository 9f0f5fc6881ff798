import JOSE
import Testing

@Suite("JWK: PEM import")
struct PEMTests {
  @Test(
    "PKCS#8, SEC 1 and PKCS#1 texts sign what their public half verifies (keys made with openssl for this test)",
    arguments: Vector.load("pem"))
  func imports(_ vector: Vector) throws {
    let key = try JWK(pem: Array(vector.string("pem").utf8), keyID: "k")
    let expected = try vector.key()
    #expect(key.thumbprint == expected.thumbprint && key.keyID == "k")
    guard let algorithm = key.defaultSignatureAlgorithm else {
      #expect(vector.string("alg") == "")
      return
    }
    #expect(algorithm.name == vector.string("alg"))
    let token = try CompactJWS.sign([1], with: key, algorithm: algorithm)
    #expect(try CompactJWS(token).verifiedPayload(with: expected, algorithm: algorithm) == [1])
  }

  @Test(
    "Encrypted, public, foreign and broken texts are refused without asking anybody for a password",
    arguments: Vector.load("pem-refused"))
  func refuses(_ vector: Vector) throws {
    let text = Array(vector.string("pem").utf8)
    expectRefusal(JOSEError.Code(rawValue: vector.string("code"))) { try JWK(pem: text) }
  }

  @Test("No text, too much text and no PEM at all are refused")
  func nonsense() {
    for text: [UInt8] in [[], Array("x".utf8), [UInt8](repeating: 0x2d, count: 70_000), [0, 1, 2]] {
      expectRefusal(.invalidKey) { try JWK(pem: text) }
    }
  }

  @Test("A cut text is refused at every length, and never traps")
  func truncation() throws {
    let text = try #require(Vector.load("pem").first { $0.string("alg") == "ES256" }).string("pem")
    let end = text.utf8.count - "-----END PRIVATE KEY-----".count
    for count in stride(from: 0, to: end, by: 7) {
      #expect(throws: JOSEError.self) { try JWK(pem: Array(text.utf8.prefix(count))) }
    }
  }
}
