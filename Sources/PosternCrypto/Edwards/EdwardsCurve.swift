/// A curve of EdDSA (RFC 8032).
public enum EdwardsCurve: Sendable, Hashable, CaseIterable {
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
