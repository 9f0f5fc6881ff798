import PosternCrypto
import PosternJSON
import PosternSupport

/// ECDH-ES (RFC 7518 section 4.6): one static key of the recipient, one ephemeral key of the sender.
enum KeyAgreement {
  /// Longer party information is not accepted.
  static let maximumPartyInfoByteCount = 1024

  /// The key that both sides derive, `byteCount` long, bound to the name of what will use it.
  static func derive(
    _ secret: SymmetricKey, algorithmID: String, parameters: JSONObject, byteCount: Int
  ) -> SymmetricKey? {
    guard let apu = partyInfo("apu", parameters), let apv = partyInfo("apv", parameters) else { return nil }
    var info = prefixed(Array(algorithmID.utf8))
    info += prefixed(apu)
    info += prefixed(apv)
    info += bigEndian(byteCount * 8)
    return ConcatKDF.derive(from: secret, info: info, byteCount: byteCount)
  }

  /// The secret shared by a private and a public key; nil when they are not of one curve, or the point is a bad one.
  static func secret(_ own: KeyMaterial, _ peer: KeyMaterial) -> SymmetricKey? {
    switch (own, peer) {
    case (.ecPrivate(let own), .ecPublic(let peer)): try? own.sharedSecret(with: peer)
    case (.montgomeryPrivate(let own), .montgomeryPublic(let peer)): try? own.sharedSecret(with: peer)
    default: nil
    }
  }

  /// The sender's ephemeral public key: a JWK without private members.
  static func ephemeralKey(_ parameters: JSONObject) -> KeyMaterial? {
    guard let members = parameters["epk"]?.objectValue, members["d"] == nil else { return nil }
    return try? KeyMaterial(members: members)
  }

  /// A fresh key on the curve of `recipient`; nil when that key is for something else.
  static func makeEphemeralKey(for recipient: KeyMaterial) throws(CryptoError) -> KeyMaterial? {
    switch recipient {
    case .ecPublic(let key): .ecPrivate(try .generate(key.curve))
    case .montgomeryPublic(let key): .montgomeryPrivate(try .generate(key.curve))
    default: nil
    }
  }

  private static func partyInfo(_ name: String, _ parameters: JSONObject) -> [UInt8]? {
    guard let value = parameters[name] else { return [] }
    guard let bytes = value.stringValue.flatMap({ Base64URL.decode($0) }), bytes.count <= maximumPartyInfoByteCount
    else { return nil }
    return bytes
  }

  private static func prefixed(_ bytes: [UInt8]) -> [UInt8] { bigEndian(bytes.count) + bytes }

  private static func bigEndian(_ number: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  }
}
