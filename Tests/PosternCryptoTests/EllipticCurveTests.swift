import PosternCrypto
import Testing

@Suite("Elliptic curves")
struct EllipticCurveTests {
  @Test("Signatures are r‖s of fixed length and belong to their key, hash and message", arguments: ECCurve.allCases)
  func signatures(_ curve: ECCurve) throws {
    let (key, other) = (try ECPrivateKey.generate(curve), try ECPrivateKey.generate(curve))
    let (message, changed): ([UInt8], [UInt8]) = ([1, 2, 3], [1, 2, 4])
    for _ in 0..<32 {
      let signature = try key.signature(for: message.span.bytes, hash: .sha256)
      #expect(signature.count == 2 * curve.coordinateByteCount)
      #expect(key.publicKey.isValidSignature(signature, for: message, hash: .sha256))
      #expect(!key.publicKey.isValidSignature(signature, for: changed, hash: .sha256))
      #expect(!key.publicKey.isValidSignature(signature, for: message, hash: .sha384))
      #expect(!other.publicKey.isValidSignature(signature, for: message, hash: .sha256))
    }
  }

  @Test("The example of RFC 6979 appendix A.2.5 verifies: P-256, SHA-256, 'sample'")
  func publishedSignature() throws {
    let key = try ECPublicKey(
      curve: .p256, x: hex("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6"),
      y: hex("7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299"))
    let signature = hex(
      """
      EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716
      F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8
      """)
    let message = Array("sample".utf8)
    #expect(key.isValidSignature(signature, for: message, hash: .sha256))
  }

  @Test("A scalar of zero, of the order, of another key or length makes no pair", arguments: ECCurve.allCases)
  func scalars(_ curve: ECCurve) throws {
    let key = try ECPrivateKey.generate(curve)
    let point = key.publicKey
    let count = curve.coordinateByteCount
    let scalar = try key.revealScalar()
    #expect(try ECPrivateKey(curve: curve, scalar: scalar, x: point.x, y: point.y).publicKey.x == point.x)
    var one = [UInt8](repeating: 0, count: count)
    one[count - 1] = 1
    let variants = [
      [UInt8](repeating: 0, count: count), one, [UInt8](repeating: 0xff, count: count),
      Array(scalar.reveal().dropFirst()),
      [0] + scalar.reveal(), [],
    ]
    for bytes in variants {
      #expect(throws: CryptoError(code: .invalidKey, message: "")) {
        try ECPrivateKey(curve: curve, scalar: SymmetricKey(bytes), x: point.x, y: point.y)
      }
    }
  }

  @Test("Both sides agree on a secret as long as the field; keys on two curves on none", arguments: ECCurve.allCases)
  func agreement(_ curve: ECCurve) throws {
    let (left, right) = (try ECPrivateKey.generate(curve), try ECPrivateKey.generate(curve))
    let secret = try left.sharedSecret(with: right.publicKey)
    #expect(try right.sharedSecret(with: left.publicKey) == secret)
    #expect(secret.byteCount == curve.coordinateByteCount)
    let other = try ECPrivateKey.generate(curve == .p256 ? .secp256k1 : .p256)
    #expect(throws: CryptoError(code: .invalidKey, message: "")) { try left.sharedSecret(with: other.publicKey) }
  }

  @Test("The example of RFC 7518 appendix C: ECDH-ES on P-256, then the concatenation KDF")
  func publishedAgreement() throws {
    let alice = try ECPrivateKey(
      curve: .p256,
      scalar: SymmetricKey(hex("d3f3716913d4310a0026de741b3f18893afc8114f0c84682ba677e313a13988a")),
      x: hex("808d060082c176eed3e776a4ac598cc8672c1779f974eecc9b03411ca5b9495d"),
      y: hex("48b5bfc527dfce53d6ac7115237d031ccff87a0570b77350a9e503ee7305a69b"))
    let bob = try ECPublicKey(
      curve: .p256, x: hex("c1e349cb61ec70248ce801034c3834e1b88ebe1161cb25af38741f785fcfc4c4"),
      y: hex("7bc96708ef80952b53f8d2555fe72b841ed04588628b1d378a594939500ec9c9"))
    let secret = try alice.sharedSecret(with: bob)
    #expect(secret.reveal() == hex("9e56d91d817135d372834283bf84269cfb316ea3da806a48f6daa7798cfe90c4"))
    let info =
      [0, 0, 0, 7] + Array("A128GCM".utf8) + [0, 0, 0, 5] + Array("Alice".utf8) + [0, 0, 0, 3] + Array("Bob".utf8)
    let derived = ConcatKDF.derive(from: secret, info: info + [0, 0, 0, 128], byteCount: 16)
    #expect(derived.reveal() == hex("56aa8deaf8236d205c2228cd71a7101a"))
  }

  // Would catch a key that is made without the check of its point: an attacker could choose a curve of small order.
  @Test("Coordinates that are not a point of the curve make no key", arguments: ECCurve.allCases)
  func pointsOfOtherCurves(_ curve: ECCurve) throws {
    let key = try ECPrivateKey.generate(curve).publicKey
    #expect(try ECPublicKey(curve: curve, x: key.x, y: key.y).x == key.x)
    let count = curve.coordinateByteCount
    var wrong = key.y
    wrong[count - 1] ^= 1
    let (zero, largest) = ([UInt8](repeating: 0, count: count), [UInt8](repeating: 255, count: count))
    for (x, y) in [(key.x, wrong), (key.y, key.x), (zero, zero), (largest, key.y), (key.x, largest)] {
      #expect(throws: CryptoError(code: .invalidKey, message: "")) { try ECPublicKey(curve: curve, x: x, y: y) }
    }
    for x in [Array(key.x.dropLast()), [0] + key.x, []] {
      #expect(throws: CryptoError(code: .invalidKey, message: "")) { try ECPublicKey(curve: curve, x: x, y: key.y) }
    }
  }
}
