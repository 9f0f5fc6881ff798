import CPosternOpenSSL

/// A public key for Diffie-Hellman on a Montgomery curve (RFC 7748). A value over one immutable OpenSSL key.
public struct MontgomeryPublicKey: Sendable {
  /// The curve.
  public let curve: MontgomeryCurve
  /// The encoded point (RFC 7748 section 5).
  public let bytes: [UInt8]
  let key: EVPKey

  /// A key of its encoded point, which must have the curve's length.
  public init(curve: MontgomeryCurve, bytes: [UInt8]) throws(CryptoError) {
    guard bytes.count == curve.keyByteCount else {
      throw CryptoError(code: .invalidKey, message: "\(curve) public key of the wrong length")
    }
    key = try EVPKey.rawPublic(type: curve.keyType, bytes: bytes)
    self.curve = curve
    self.bytes = bytes
  }
}
