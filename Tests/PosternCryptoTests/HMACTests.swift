import PosternCrypto
import Testing

@Suite("HMAC")
struct HMACTests {
  @Test("RFC 4231 test case 2 comes out for every SHA-2 function")
  func knownAnswers() throws {
    let message = Array("what do ya want for nothing?".utf8)
    let expected: [(HashFunction, String)] = [
      (.sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
      (.sha384, "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"),
      (
        .sha512,
        """
        164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b
        636e070a38bce737
        """
      ),
    ]
    for (hash, code) in expected {
      let key = SymmetricKey(Array("Jefe".utf8))
      #expect(try HMAC.authenticate(message.span.bytes, using: hash, key: key) == hex(code))
    }
  }

  @Test("Pieces give the same code as the whole")
  func pieces() throws {
    let key = SymmetricKey([1, 2, 3])
    let (left, right, empty): ([UInt8], [UInt8], [UInt8]) = ([1, 2], [3], [])
    let whole = left + right
    var code = try HMAC(.sha256, key: key)
    code.update(left.span.bytes)
    code.update(empty.span.bytes)
    code.update(right.span.bytes)
    let result = code.finalize()
    #expect(try HMAC.authenticate(whole.span.bytes, using: .sha256, key: key) == result)
  }

  @Test("A key made ready gives the same codes, however often and from however many tasks it is used")
  func readyKey() async throws {
    for hash in HashFunction.allCases {
      let key = SymmetricKey(Array("Jefe".utf8))
      let ready = try HMACKey(hash, key: key)
      await withTaskGroup(of: Bool.self) { group in
        for number in 0..<100 {
          group.addTask {
            let message = Array("message \(number)".utf8)
            return ready.authenticate(message.span.bytes)
              == (try? HMAC.authenticate(message.span.bytes, using: hash, key: key))
          }
        }
        for await isSame in group { #expect(isSame) }
      }
    }
    #expect(throws: CryptoError(code: .weakKey, message: "")) { try HMACKey(.sha256, key: SymmetricKey([])) }
  }

  @Test("An empty key is rejected: it would authenticate anybody's message")
  func emptyKey() {
    let message: [UInt8] = [1]
    #expect(throws: CryptoError(code: .weakKey, message: "")) {
      try HMAC.authenticate(message.span.bytes, using: .sha256, key: SymmetricKey([]))
    }
  }
}
