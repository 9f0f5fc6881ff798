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
