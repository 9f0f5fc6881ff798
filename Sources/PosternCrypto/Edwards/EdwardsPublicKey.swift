import CPosternOpenSSL

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
    guard bytes.count == curve.keyByteCount else {
      throw CryptoError(code: .invalidKey, message: "\(curve) public key of the wrong length")
    }
    key = try EVPKey.rawPublic(type: curve.keyType, bytes: bytes)
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
