import CPosternOpenSSL

/// A key pair of EdDSA (RFC 8032). A value over one immutable OpenSSL key.
public struct EdwardsPrivateKey: Sendable {
  /// The public half.
  public let publicKey: EdwardsPublicKey
  let key: EVPKey

  /// A fresh key.
  public static func generate(_ curve: EdwardsCurve) throws(CryptoError) -> EdwardsPrivateKey {
    try EdwardsPrivateKey(curve: curve, seed: .random(byteCount: curve.keyByteCount))
  }

  /// The key of `seed`, which must have the curve's length; `invalidKey` when `publicBytes` are given and not its
  /// public half.
  public init(curve: EdwardsCurve, seed: SymmetricKey, publicBytes: [UInt8]? = nil) throws(CryptoError) {
    guard seed.byteCount == curve.keyByteCount else {
      throw CryptoError(code: .invalidKey, message: "\(curve) private key of the wrong length")
    }
    try self.init(curve: curve, key: EVPKey.rawPrivate(type: curve.keyType, seed: seed))
    guard publicBytes == nil || publicBytes == publicKey.bytes else {
      throw CryptoError(code: .invalidKey, message: "private and public key do not belong together")
    }
  }

  /// A key that OpenSSL has made or parsed.
  init(curve: EdwardsCurve, key: EVPKey) throws(CryptoError) {
    publicKey = try EdwardsPublicKey(curve: curve, bytes: key.rawPublicBytes(byteCount: curve.keyByteCount))
    self.key = key
  }

  /// The seed. Search for this name to find where key material leaves its box.
  public func revealSeed() throws(CryptoError) -> SymmetricKey {
    try key.rawPrivateBytes(byteCount: publicKey.curve.keyByteCount)
  }

  /// The signature of `message`.
  public func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
    try key.sign(message, hash: nil)
  }
}
