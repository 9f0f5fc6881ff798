import PosternCrypto
import PosternSupport

/// The family of a key: the `kty` parameter (RFC 7518 section 6.1, RFC 8037 section 2).
public enum KeyType: String, Sendable, Hashable, CaseIterable {
  /// RSA.
  case rsa = "RSA"
  /// A Weierstrass curve.
  case ec = "EC"
  /// A Montgomery or Edwards curve.
  case okp = "OKP"
  /// A symmetric key.
  case oct
}

/// A curve: the `crv` parameter (RFC 7518 section 6.2.1.1, RFC 8037 section 2, RFC 8812 section 3.1).
enum KeyCurve: Sendable, Hashable {
  case weierstrass(ECCurve)
  case edwards(EdwardsCurve)
  case montgomery(MontgomeryCurve)

  private static let table: [(name: String, keyType: KeyType, curve: KeyCurve)] = [
    ("P-256", .ec, .weierstrass(.p256)),
    ("P-384", .ec, .weierstrass(.p384)),
    ("P-521", .ec, .weierstrass(.p521)),
    ("secp256k1", .ec, .weierstrass(.secp256k1)),
    ("Ed25519", .okp, .edwards(.ed25519)),
    ("Ed448", .okp, .edwards(.ed448)),
    ("X25519", .okp, .montgomery(.x25519)),
  ]

  /// The curve of `name` for keys of `keyType`; nil when it is not supported.
  init?(name: String, keyType: KeyType) {
    guard let row = Self.table.first(where: { $0.keyType == keyType && $0.name.hasSameBytes(as: name) }) else {
      return nil
    }
    self = row.curve
  }

  /// The `crv` value.
  var name: String { Self.table.first { $0.curve == self }?.name ?? "" }
}
