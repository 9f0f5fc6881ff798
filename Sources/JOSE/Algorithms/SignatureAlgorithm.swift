import PosternCrypto

/// One row of the table of JWS algorithms: everything the code needs to know about an `alg` value.
///
/// Nothing below this type looks at the name. The rows are in `SignatureAlgorithm+Table.swift`.
public struct SignatureAlgorithm: Sendable {
  /// What is computed, with the parameters that the name fixes.
  enum Scheme: Sendable, Hashable {
    case rsa(RSASignatureScheme)
    case ecdsa(ECCurve, HashFunction)
    case edwards(Set<EdwardsCurve>)
    case hmac(HashFunction)
  }

  /// The `alg` value.
  public let name: String
  /// The `kty` its keys must have.
  public let keyType: KeyType
  /// The smallest key in bits; for curves the curve decides.
  public let minimumKeyBitCount: Int
  let scheme: Scheme

  /// Whether one secret both signs and verifies, so that it must never come out of a published key set.
  public var isSymmetric: Bool { keyType == .oct }
}

extension SignatureAlgorithm: Hashable {
  /// Same name and same scheme (`EdDSA` may have been narrowed to one curve).
  public static func == (left: SignatureAlgorithm, right: SignatureAlgorithm) -> Bool {
    left.name == right.name && left.scheme == right.scheme
  }

  /// Feeds the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension SignatureAlgorithm: CustomStringConvertible {
  /// The `alg` value.
  public var description: String { name }
}
