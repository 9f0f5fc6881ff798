import PosternCrypto
import PosternJSON
import PosternSupport

extension KeyMaterial {
  /// The members of the public key besides `kty` (RFC 7518 section 6, RFC 8037 section 2), in the order of their names:
  /// with `kty` they are what the thumbprint hashes. For a symmetric key that is the key itself.
  func requiredMembers(revealingSymmetric: Bool) -> [(String, JSONValue)] {
    switch self {
    case .rsaPublic(let key):
      [("e", .base64URL(key.exponent)), ("kty", .string(KeyType.rsa.rawValue)), ("n", .base64URL(key.modulus))]
    case .ecPublic(let key):
      [
        ("crv", .string(KeyCurve.weierstrass(key.curve).name)), ("kty", .string(KeyType.ec.rawValue)),
        ("x", .base64URL(key.x)), ("y", .base64URL(key.y)),
      ]
    case .edwardsPublic(let key): Self.okpMembers(.edwards(key.curve), key.bytes)
    case .montgomeryPublic(let key): Self.okpMembers(.montgomery(key.curve), key.bytes)
    case .symmetric(let key):
      (revealingSymmetric ? [("k", .base64URL(key.reveal()))] : []) + [("kty", .string(KeyType.oct.rawValue))]
    case .rsaPrivate, .ecPrivate, .edwardsPrivate, .montgomeryPrivate:
      publicMaterial?.requiredMembers(revealingSymmetric: false) ?? []
    }
  }

  /// The members that make a key pair of the public key.
  func privateMembers() throws(CryptoError) -> [(String, JSONValue)] {
    switch self {
    case .rsaPublic, .ecPublic, .edwardsPublic, .montgomeryPublic, .symmetric: return []
    case .rsaPrivate(let key):
      let components = try key.revealComponents()
      return [
        ("d", .base64URL(components.privateExponent)), ("p", .base64URL(components.prime1)),
        ("q", .base64URL(components.prime2)), ("dp", .base64URL(components.exponent1)),
        ("dq", .base64URL(components.exponent2)), ("qi", .base64URL(components.coefficient)),
      ]
    case .ecPrivate(let key): return [("d", .base64URL(try key.revealScalar().reveal()))]
    case .edwardsPrivate(let key): return [("d", .base64URL(try key.revealSeed().reveal()))]
    case .montgomeryPrivate(let key): return [("d", .base64URL(try key.revealSeed().reveal()))]
    }
  }

  private static func okpMembers(_ curve: KeyCurve, _ bytes: [UInt8]) -> [(String, JSONValue)] {
    [("crv", .string(curve.name)), ("kty", .string(KeyType.okp.rawValue)), ("x", .base64URL(bytes))]
  }
}

extension JSONValue {
  /// A string that holds the base64url of `bytes`.
  static func base64URL(_ bytes: [UInt8]) -> JSONValue { .string(Base64URL.string(bytes)) }
}
