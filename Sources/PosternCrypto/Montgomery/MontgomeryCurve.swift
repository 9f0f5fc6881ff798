/// A curve for Diffie-Hellman by the u coordinate (RFC 7748).
public enum MontgomeryCurve: Sendable, Hashable, CaseIterable {
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
