import CPosternOpenSSL

/// A key pair for Diffie-Hellman on a Montgomery curve (RFC 7748). A value over one immutable OpenSSL key.
public struct MontgomeryPrivateKey: Sendable {
  /// The public half.
  public let publicKey: MontgomeryPublicKey
  let key: EVPKey

  /// A fresh key.
  public static func generate(_ curve: MontgomeryCurve) throws(CryptoError) -> MontgomeryPrivateKey {
    try MontgomeryPrivateKey(curve: curve, seed: .random(byteCount: curve.keyByteCount))
  }

  /// The key of `seed`, which must have the curve's length; `invalidKey` when `publicBytes` are given and not its
  /// public half.
  public init(curve: MontgomeryCurve, seed: SymmetricKey, publicBytes: [UInt8]? = nil) throws(CryptoError) {
    guard seed.byteCount == curve.keyByteCount else {
      throw CryptoError(code: .invalidKey, message: "\(curve) private key of the wrong length")
    }
    try self.init(curve: curve, key: EVPKey.rawPrivate(type: curve.keyType, seed: seed))
    guard publicBytes == nil || publicBytes == publicKey.bytes else {
      throw CryptoError(code: .invalidKey, message: "private and public key do not belong together")
    }
  }

  /// A key that OpenSSL has made or parsed.
  init(curve: MontgomeryCurve, key: EVPKey) throws(CryptoError) {
    publicKey = try MontgomeryPublicKey(curve: curve, bytes: key.rawPublicBytes(byteCount: curve.keyByteCount))
    self.key = key
  }

  /// The seed. Search for this name to find where key material leaves its box.
  public func revealSeed() throws(CryptoError) -> SymmetricKey {
    try key.rawPrivateBytes(byteCount: publicKey.curve.keyByteCount)
  }

  /// The secret shared with `peer`; `invalidKey` when it would be all zero (RFC 7748 section 6.1).
  public func sharedSecret(with peer: MontgomeryPublicKey) throws(CryptoError) -> SymmetricKey {
    guard peer.curve == publicKey.curve else {
      throw CryptoError(code: .invalidKey, message: "keys on different curves")
    }
    return try key.derive(with: peer.key)
  }
}
