import JOSE
import PosternJSON
import Testing

@Suite("Keys under concurrency")
struct ConcurrencyTests {
  @Test("One key object signs and verifies on many threads at once", arguments: SignatureAlgorithm.all)
  func sharedKey(_ algorithm: SignatureAlgorithm) async throws {
    let key = TestKeys.signing(algorithm)
    let token = try CompactJWS.sign(claims: ["sub": "1"], with: key, algorithm: algorithm)
    let forged = compact(#"{"alg":"\#(algorithm.name)"}"#, "{}", [UInt8](repeating: 1, count: 64))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<16 {
        group.addTask {
          for round in 0..<8 {
            #expect(try CompactJWS(token).verifiedPayload(with: key, algorithm: algorithm).count == 11)
            // A failure on one thread must not show up on another through OpenSSL's error queue.
            #expect(throws: JOSEError.self) {
              try CompactJWS(forged).verifiedPayload(with: key, algorithm: algorithm)
            }
            if (index + round).isMultiple(of: 4) { _ = try CompactJWS.sign([1], with: key, algorithm: algorithm) }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("One key object decrypts on many threads at once")
  func sharedDecryptionKey() async throws {
    for (algorithm, key) in [(KeyManagementAlgorithm.rsaOAEP256, TestKeys.rsa), (.ecdhESA256KW, TestKeys.p256)] {
      let token = try CompactJWE.encrypt([1], for: key, algorithm: algorithm, encryption: .a256GCM)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<16 {
          group.addTask { () async throws in
            for _ in 0..<4 {
              let plaintext = try decrypt(token, key: key)
              #expect(plaintext == [1])
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }
}
