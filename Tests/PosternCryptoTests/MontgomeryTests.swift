import PosternCrypto
import Testing

@Suite("X25519")
struct MontgomeryTests {
  @Test("The example of RFC 7748 section 6.1 comes out")
  func published() throws {
    let bob = try MontgomeryPrivateKey(
      curve: .x25519, seed: SymmetricKey(hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")),
      publicBytes: hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"))
    let alice = try MontgomeryPublicKey(
      curve: .x25519, bytes: hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"))
    #expect(
      try bob.sharedSecret(with: alice).reveal()
        == hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"))
  }

  @Test("Points of small order, whose shared secret is known to everyone, are rejected")
  func smallOrder() throws {
    let key = try MontgomeryPrivateKey.generate(.x25519)
    let points = [
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ]
    for point in points {
      let peer = try MontgomeryPublicKey(curve: .x25519, bytes: hex(point))
      #expect(throws: CryptoError(code: .invalidKey, message: "")) { try key.sharedSecret(with: peer) }
    }
  }

  @Test("A seed's public half must be the one given, and lengths must be the curve's")
  func mismatch() throws {
    let (key, other) = (try MontgomeryPrivateKey.generate(.x25519), try MontgomeryPrivateKey.generate(.x25519))
    #expect(throws: CryptoError.self) {
      try MontgomeryPrivateKey(curve: .x25519, seed: key.revealSeed(), publicBytes: other.publicKey.bytes)
    }
    for count in [0, 31, 33] {
      #expect(throws: CryptoError.self) { try MontgomeryPrivateKey(curve: .x25519, seed: .random(byteCount: count)) }
      #expect(throws: CryptoError.self) { try MontgomeryPublicKey(curve: .x25519, bytes: SecureRandom.bytes(count)) }
    }
  }
}
