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
    "Encrypted, public, foreign and broken texts are rejected without a prompt for a password",
    arguments: Vector.load("pem-rejected"))
  func rejects(_ vector: Vector) throws {
    let text = Array(vector.string("pem").utf8)
    expectError(JOSEError.Code(rawValue: vector.string("code"))) { try JWK(pem: text) }
  }

  @Test("An empty text, one that is too long and one without PEM are rejected")
  func nonsense() {
    for text: [UInt8] in [[], Array("x".utf8), [UInt8](repeating: 0x2d, count: 70_000), [0, 1, 2]] {
      expectError(.invalidKey) { try JWK(pem: text) }
    }
  }

  @Test("A truncated text is rejected at every length, and never traps")
  func truncation() throws {
    let text = try #require(Vector.load("pem").first { $0.string("alg") == "ES256" }).string("pem")
    let end = text.utf8.count - "-----END PRIVATE KEY-----".count
    for count in stride(from: 0, to: end, by: 7) {
      #expect(throws: JOSEError.self) { try JWK(pem: Array(text.utf8.prefix(count))) }
    }
  }

  @Test("A public key and a certificate in PEM give the same public key; private and broken texts are rejected")
  func publicKeys() throws {
    let begin = "-----BEGIN"
    let end = "-----END"
    let publicKey = """
      \(begin) PUBLIC KEY-----
      MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqpdH7DA7H5AJvfTBfMLZChsvWlnh
      zyin0Et9bvna47M3UNBdud+x9O0y7lIy9o5c9VJSdUUjNwtNGPaflgZ6Aw==
      \(end) PUBLIC KEY-----
      """
    let certificate = """
      \(begin) CERTIFICATE-----
      MIIBcDCCARWgAwIBAgIURi5uNZgaE3HZ9d2o61rqgcNVU8cwCgYIKoZIzj0EAwIw
      DDEKMAgGA1UEAwwBeDAgFw0yNjExMjIwMzAyNTFaGA8yMTI2MTAyOTAzMDI1MVow
      DDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKqXR+wwOx+Q
      Cb30wXzC2QobL1pZ4c8op9BLfW752uOzN1DQXbnfsfTtMu5SMvaOXPVSUnVFIzcL
      TRj2n5YGegOjUzBRMB0GA1UdDgQWBBScYpO2PStyW3/WzSDfecq3Ch/kMzAfBgNV
      HSMEGDAWgBScYpO2PStyW3/WzSDfecq3Ch/kMzAPBgNVHRMBAf8EBTADAQH/MAoG
      CCqGSM49BAMCA0kAMEYCIQDD6+NfL/XYJIiuUVLlfJ6o18t8H5EdM4vBzaIyVV2z
      9AIhANC0MZOCjXhrE35UEboRYauQzX0tSF6sz1XlfxlQuW93
      \(end) CERTIFICATE-----
      """
    let keys = try [publicKey, certificate].map { try JWK(publicPEM: Array($0.utf8)) }
    #expect(keys[0].thumbprint != nil && keys[0].thumbprint == keys[1].thumbprint)
    #expect(keys.allSatisfy { !$0.material.isSecret })
    let privateKeys = Vector.load("pem").map { $0.string("pem") }
    let broken = ["", "garbage", publicKey.replacing("MFkw", with: "MFkx"), "\(begin) CERTIFICATE-----"]
    for text in privateKeys + broken {
      #expect(throws: JOSEError.self) { try JWK(publicPEM: Array(text.utf8)) }
    }
    #expect(throws: JOSEError.self) { try JWK(publicPEM: [UInt8](repeating: 0x41, count: 70_000)) }
  }
}
