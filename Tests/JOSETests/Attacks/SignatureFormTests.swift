import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

@Suite("Attacks: signatures of the wrong form")
struct SignatureFormTests {
  static let orders: [(SignatureAlgorithm, String)] = [
    (.es256, "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"),
    (
      .es384, "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973"
    ),
    (
      .es512,
      "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
    ),
    (.es256k, "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"),
  ]

  static func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex)
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
  }

  @Test("r or s of zero, of the group order or above is rejected (CVE-2022-21449)", arguments: orders)
  func psychicSignatures(_ algorithm: SignatureAlgorithm, _ hex: String) throws {
    let order = Self.bytes(hex)
    let zero = [UInt8](repeating: 0, count: order.count)
    var one = zero
    one[one.count - 1] = 1
    let all = [UInt8](repeating: 0xff, count: order.count)
    let key = TestKeys.signing(algorithm)
    for r in [zero, one, order, all] {
      for s in [zero, one, order, all] {
        let token = compact(#"{"alg":"\#(algorithm.name)"}"#, "{}", r + s)
        expectError(.badSignature) { try CompactJWS(token).verifiedPayload(with: key, algorithm: algorithm) }
      }
    }
  }

  @Test("s plus the group order, the same number modulo the order, is rejected", arguments: orders)
  func unreducedScalar(_ algorithm: SignatureAlgorithm, _ hex: String) throws {
    let order = Self.bytes(hex)
    let key = TestKeys.signing(algorithm)
    let parts = try CompactJWS.sign([1], with: key, algorithm: algorithm).split(separator: ".")
    let signature = try #require(Base64URL.decode(String(parts[2])))
    var carry = 0
    var sum = Array(signature[order.count...])
    for index in order.indices.reversed() {
      let total = Int(sum[index]) + Int(order[index]) + carry
      sum[index] = UInt8(total & 0xff)
      carry = total >> 8
    }
    let changed = Base64URL.string(Array(signature[..<order.count]) + sum)
    expectError(.badSignature) {
      try CompactJWS("\(parts[0]).\(parts[1]).\(changed)").verifiedPayload(with: key, algorithm: algorithm)
    }
  }

  @Test(
    "A signature a byte too short or too long, or of zeros, is rejected by every algorithm",
    arguments: SignatureAlgorithm.all)
  func lengths(_ algorithm: SignatureAlgorithm) throws {
    let key = TestKeys.signing(algorithm)
    let parts = try CompactJWS.sign([1], with: key, algorithm: algorithm).split(separator: ".")
    let signature = try #require(Base64URL.decode(String(parts[2])))
    let variants: [[UInt8]] = [
      Array(signature.dropLast()), signature + [0], [0] + signature, Array(signature.dropFirst()), [0],
      [UInt8](repeating: 0, count: signature.count), signature + signature,
    ]
    for variant in variants {
      expectError(.badSignature) {
        try CompactJWS("\(parts[0]).\(parts[1]).\(Base64URL.string(variant))")
          .verifiedPayload(with: key, algorithm: algorithm)
      }
    }
  }

  @Test(
    "No single-bit change of a valid token validates",
    arguments: [SignatureAlgorithm.es256, .rs256, .ps256, .ed25519, .hs256])
  func singleBits(_ algorithm: SignatureAlgorithm) throws {
    let key = TestKeys.signing(algorithm)
    let keys = JWKSet([key])
    let token = Array(try CompactJWS.sign(claims: ["sub": "1"], with: key, algorithm: algorithm).utf8)
    for position in token.indices {
      for bit in 0..<8 {
        var changed = token
        changed[position] ^= 1 << UInt8(bit)
        let text = String(decoding: changed, as: UTF8.self)
        #expect(throws: JOSEError.self, "byte \(position), bit \(bit)") { try verify(text, keys: keys) }
      }
    }
  }
}
