import PosternCrypto
import Testing

@Suite("RSA")
struct RSATests {
  static let pair = made()

  static func made() -> RSAPrivateKey {
    do { return try RSAPrivateKey.generate(bitCount: 2048) } catch { preconditionFailure("\(error)") }
  }

  static let schemes: [RSASignatureScheme] = [HashFunction.sha256, .sha384, .sha512].flatMap {
    [.pkcs1v15($0), .pss($0)]
  }

  @Test("A signature is as long as the modulus and verifies under its own scheme only", arguments: schemes)
  func schemesDoNotMix(_ scheme: RSASignatureScheme) throws {
    let message: [UInt8] = [1, 2, 3]
    let signature = try Self.pair.signature(for: message.span.bytes, scheme: scheme)
    #expect(signature.count == 256)
    for other in Self.schemes {
      let isValid = Self.pair.publicKey.isValidSignature(signature, for: message, scheme: other)
      #expect(isValid == (other == scheme))
    }
  }

  @Test("An empty message can be signed")
  func emptyMessage() throws {
    let message: [UInt8] = []
    let signature = try Self.pair.signature(for: message.span.bytes, scheme: .pss(.sha256))
    #expect(Self.pair.publicKey.isValidSignature(signature, for: message, scheme: .pss(.sha256)))
  }

  @Test("Components round-trip, and each of them changed is rejected")
  func components() throws {
    let components = try Self.pair.revealComponents()
    #expect(try RSAPrivateKey(components).publicKey.modulus == Self.pair.publicKey.modulus)
    let paths: [WritableKeyPath<RSAPrivateComponents, [UInt8]>] = [
      \.privateExponent, \.prime1, \.prime2, \.exponent1, \.exponent2, \.coefficient,
    ]
    for path in paths {
      for change: ([UInt8]) -> [UInt8] in [
        { $0.dropLast() + [$0[$0.count - 1] ^ 2] }, { _ in [] }, { _ in [1] }, { _ in [0] },
        { _ in [UInt8](repeating: 0xff, count: 257) },
      ] {
        var changed = components
        changed[keyPath: path] = change(components[keyPath: path])
        #expect(throws: CryptoError(code: .invalidKey, message: "")) { try RSAPrivateKey(changed) }
      }
    }
    var swapped = components
    (swapped.prime1, swapped.prime2) = (components.prime2, components.prime1)
    #expect(throws: CryptoError.self) { try RSAPrivateKey(swapped) }
    #expect("\(components)" == "<secret>")
  }

  @Test("Key sizes out of range are rejected", arguments: [0, 512, 1023, 8193, -1])
  func sizes(_ bits: Int) {
    #expect(throws: CryptoError(code: .invalidInput, message: "")) { try RSAPrivateKey.generate(bitCount: bits) }
  }

  @Test("OAEP gives back what went in, under the same hash only", arguments: HashFunction.allCases)
  func encryption(_ hash: HashFunction) throws {
    let secret = SymmetricKey.random(byteCount: 32)
    let ciphertext = try Self.pair.publicKey.encrypt(secret, oaep: hash)
    #expect(try Self.pair.decrypt(ciphertext, oaep: hash) == secret)
    for other in HashFunction.allCases where other != hash {
      #expect(throws: CryptoError(code: .authenticationFailed, message: "")) {
        try Self.pair.decrypt(ciphertext, oaep: other)
      }
    }
  }

  @Test("A ciphertext of the wrong length, of zeros or at the modulus fails without a trap")
  func badCiphertexts() {
    let variants: [[UInt8]] = [
      [], [1], [UInt8](repeating: 0, count: 256), [UInt8](repeating: 0xff, count: 256), Self.pair.publicKey.modulus,
      [UInt8](repeating: 1, count: 255), [UInt8](repeating: 1, count: 257),
    ]
    for ciphertext in variants {
      #expect(throws: CryptoError(code: .authenticationFailed, message: "")) {
        try Self.pair.decrypt(ciphertext, oaep: .sha256)
      }
    }
  }

  @Test("A message too long for OAEP is an error")
  func longMessage() {
    #expect(throws: CryptoError.self) {
      try Self.pair.publicKey.encrypt(.random(byteCount: 256), oaep: .sha256)
    }
  }
}
