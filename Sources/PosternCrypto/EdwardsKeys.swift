import CPosternOpenSSL
public import PosternSupport

/// A curve of EdDSA (RFC 8032).
public enum EdwardsCurve: RawKeyCurve, Sendable, Hashable, CaseIterable {
  /// edwards25519.
  case ed25519
  /// edwards448.
  case ed448

  /// The length of a public key, and of a seed, in bytes.
  public var keyByteCount: Int {
    switch self {
    case .ed25519: 32
    case .ed448: 57
    }
  }

  /// The length of a signature in bytes.
  public var signatureByteCount: Int { 2 * keyByteCount }

  var keyType: String {
    switch self {
    case .ed25519: "ED25519"
    case .ed448: "ED448"
    }
  }
}

/// A public key of EdDSA (RFC 8032). A value over one immutable OpenSSL key.
public struct EdwardsPublicKey: Sendable {
  /// The curve.
  public let curve: EdwardsCurve
  /// The encoded point (RFC 8032 sections 5.1.5 and 5.2.5).
  public let bytes: [UInt8]
  let key: EVPKey
  private let verification: PreparedVerification?

  /// A key of its encoded point, which must have the curve's length.
  public init(curve: EdwardsCurve, bytes: [UInt8]) throws(CryptoError) {
    key = try EVPKey.rawPublic(curve, bytes: bytes)
    verification = PreparedVerification(key: key, hash: nil)
    self.curve = curve
    self.bytes = bytes
  }

  /// Whether `signature` is one of this key over `message`. One of the wrong length never is.
  public func isValidSignature(_ signature: [UInt8], for message: RawSpan) -> Bool {
    guard signature.count == curve.signatureByteCount else { return false }
    return signature.withUnsafeBytes { verification?.isValid($0, of: message) ?? false }
  }
}

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
    try self.init(curve: curve, key: EVPKey.rawPrivate(curve, seed: seed, publicBytes: publicBytes))
  }

  /// A key that OpenSSL has made or parsed.
  init(curve: EdwardsCurve, key: EVPKey) throws(CryptoError) {
    publicKey = try EdwardsPublicKey(curve: curve, bytes: key.rawPublicBytes(curve))
    self.key = key
  }

  /// The seed. Search for this name to find where key material is exported.
  public func revealSeed() throws(CryptoError) -> SymmetricKey {
    try key.rawPrivateBytes(publicKey.curve)
  }

  /// The signature of `message`.
  public func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
    try key.sign(message, hash: nil)
  }
}

extension EdwardsPublicKey: ConciseStringConvertible {
  /// The curve.
  public var description: String { "\(curve) public key" }
}

extension EdwardsPrivateKey: ConciseStringConvertible {
  /// The curve: never key material.
  public var description: String { "\(publicKey.curve) private key" }
}
