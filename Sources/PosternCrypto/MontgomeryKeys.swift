import CPosternOpenSSL
public import PosternSupport

/// A curve for Diffie-Hellman by the u coordinate (RFC 7748).
public enum MontgomeryCurve: RawKeyCurve, Sendable, Hashable, CaseIterable {
  /// curve25519.
  case x25519

  /// The length of a public key, and of a seed, in bytes.
  public var keyByteCount: Int {
    switch self {
    case .x25519: 32
    }
  }

  var keyType: String {
    switch self {
    case .x25519: "X25519"
    }
  }
}

/// A public key for Diffie-Hellman on a Montgomery curve (RFC 7748). A value over one immutable OpenSSL key.
public struct MontgomeryPublicKey: Sendable {
  /// The curve.
  public let curve: MontgomeryCurve
  /// The encoded point (RFC 7748 section 5).
  public let bytes: [UInt8]
  let key: EVPKey

  /// A key of its encoded point, which must have the curve's length.
  public init(curve: MontgomeryCurve, bytes: [UInt8]) throws(CryptoError) {
    key = try EVPKey.rawPublic(curve, bytes: bytes)
    self.curve = curve
    self.bytes = bytes
  }
}

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
    try self.init(curve: curve, key: EVPKey.rawPrivate(curve, seed: seed, publicBytes: publicBytes))
  }

  /// A key that OpenSSL has made or parsed.
  init(curve: MontgomeryCurve, key: EVPKey) throws(CryptoError) {
    publicKey = try MontgomeryPublicKey(curve: curve, bytes: key.rawPublicBytes(curve))
    self.key = key
  }

  /// The seed. Search for this name to find where key material is exported.
  public func revealSeed() throws(CryptoError) -> SymmetricKey {
    try key.rawPrivateBytes(publicKey.curve)
  }

  /// The secret shared with `peer`; `invalidKey` when it would be all zero (RFC 7748 section 6.1).
  public func sharedSecret(with peer: MontgomeryPublicKey) throws(CryptoError) -> SymmetricKey {
    guard peer.curve == publicKey.curve else {
      throw CryptoError(code: .invalidKey, message: "keys on different curves")
    }
    return try key.derive(with: peer.key)
  }
}

extension MontgomeryPublicKey: ConciseStringConvertible {
  /// The curve.
  public var description: String { "\(curve) public key" }
}

extension MontgomeryPrivateKey: ConciseStringConvertible {
  /// The curve: never key material.
  public var description: String { "\(publicKey.curve) private key" }
}
