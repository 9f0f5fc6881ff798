import PosternCrypto
import Testing

@Suite("Key derivation")
struct KeyDerivationTests {
  @Test("PBKDF2 with HMAC-SHA-256 gives RFC 7914 section 11's first 64 bytes")
  func published() throws {
    let derived = try PBKDF2.derive(
      from: SymmetricKey(Array("passwd".utf8)), salt: Array("salt".utf8), iterations: 1, hash: .sha256, byteCount: 64)
    #expect(
      derived.reveal()
        == hex(
          """
          55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc
          49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783
          """))
  }

  @Test("PBKDF2 with HMAC-SHA-512 agrees with Python's hashlib")
  func crossChecked() throws {
    let derived = try PBKDF2.derive(
      from: SymmetricKey(Array("password".utf8)), salt: Array("saltsalt".utf8), iterations: 4096, hash: .sha512,
      byteCount: 32)
    #expect(derived.reveal() == hex("fa31702cc69e57e90bdeccf1fa5f5874e2eb576b7ce2059ee4682a27e61e70ec"))
  }

  @Test("Impossible parameters are errors, not traps", arguments: [0, -1, Int.max, Int(Int32.max) + 1])
  func bounds(_ iterations: Int) {
    #expect(throws: CryptoError(code: .invalidInput, message: "")) {
      try PBKDF2.derive(from: SymmetricKey([1]), salt: [1], iterations: iterations, hash: .sha256, byteCount: 16)
    }
    #expect(throws: CryptoError(code: .invalidInput, message: "")) {
      try PBKDF2.derive(from: SymmetricKey([1]), salt: [1], iterations: 1, hash: .sha256, byteCount: 65)
    }
  }

  @Test("HKDF gives RFC 5869 appendix A.1's pseudorandom key and the first 32 bytes of its output")
  func extractAndExpand() throws {
    let key = try HKDF.extract(
      from: SymmetricKey([UInt8](repeating: 0x0b, count: 22)), salt: hex("000102030405060708090a0b0c"))
    #expect(key.reveal() == hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"))
    #expect(
      try HKDF.expand(key, info: hex("f0f1f2f3f4f5f6f7f8f9")).reveal()
        == hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"))
  }

  @Test("The concatenation KDF gives more than one hash's worth by counting on")
  func concatenation() {
    let long = ConcatKDF.derive(from: SymmetricKey([1, 2]), info: [3], byteCount: 64).reveal()
    #expect(Array(long[..<32]) == HashFunction.sha256.hash([0, 0, 0, 1, 1, 2, 3]))
    #expect(Array(long[32...]) == HashFunction.sha256.hash([0, 0, 0, 2, 1, 2, 3]))
    #expect(ConcatKDF.derive(from: SymmetricKey([1, 2]), info: [3], byteCount: 20).reveal() == Array(long[..<20]))
  }
}
