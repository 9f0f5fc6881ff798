import PosternCrypto
import Testing

@Suite("EdDSA")
struct EdwardsTests {
  static let examples: [(EdwardsCurve, seed: String, public: String, message: String, signature: String)] = [
    (
      .ed25519, "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      """
      92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da
      085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00
      """
    ),
    (
      .ed448,
      "c4eab05d357007c632f3dbb48489924d552b08fe0c353a0d4a1f00acda2c463afbea67c5e8d2877c5e3bc397a659949ef8021e954e0a12274e",
      "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c235160627b4c3a9480",
      "03",
      """
      26b8f91727bd62897af15e41eb43c377efb9c610d48f2335cb0bd0087810f4352541b143c4b981b7e18f62de8ccdf633fc1bf037ab7cd779
      805e0dbcc0aae1cbcee1afb2e027df36bc04dcecbf154336c19f0af7e0a6472905e799f1953d2a0ff3348ab21aa4adafd1d234441cf807c0
      3a00
      """
    ),
  ]

  @Test("The examples of RFC 8032 sections 7.1 and 7.4 come out", arguments: examples.indices)
  func published(_ index: Int) throws {
    let example = Self.examples[index]
    let key = try EdwardsPrivateKey(
      curve: example.0, seed: SymmetricKey(hex(example.seed)), publicBytes: hex(example.public))
    let message = hex(example.message)
    #expect(try key.signature(for: message.span.bytes) == hex(example.signature))
    #expect(key.publicKey.isValidSignature(hex(example.signature), for: message))
    #expect(try key.revealSeed().reveal() == hex(example.seed))
  }

  @Test("A seed's public half must be the one given, and lengths must be the curve's", arguments: EdwardsCurve.allCases)
  func mismatch(_ curve: EdwardsCurve) throws {
    let (key, other) = (try EdwardsPrivateKey.generate(curve), try EdwardsPrivateKey.generate(curve))
    let error = CryptoError(code: .invalidKey, message: "")
    #expect(throws: error) {
      try EdwardsPrivateKey(curve: curve, seed: key.revealSeed(), publicBytes: other.publicKey.bytes)
    }
    for count in [0, 31, 33, 56, 58] {
      #expect(throws: error) { try EdwardsPrivateKey(curve: curve, seed: .random(byteCount: count)) }
      #expect(throws: error) { try EdwardsPublicKey(curve: curve, bytes: SecureRandom.bytes(count)) }
    }
  }

  @Test("A signature with s not reduced is rejected, so that no second signature of a message passes")
  func malleability() throws {
    let message: [UInt8] = [1]
    let key = try EdwardsPrivateKey.generate(.ed25519)
    var signature = try key.signature(for: message.span.bytes)
    let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
    var carry = 0
    for index in 0..<32 {
      let sum = Int(signature[32 + index]) + Int(order[index]) + carry
      signature[32 + index] = UInt8(sum & 0xff)
      carry = sum >> 8
    }
    #expect(!key.publicKey.isValidSignature(signature, for: message))
  }
}
