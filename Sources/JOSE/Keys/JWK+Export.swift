public import PosternCrypto
public import PosternJSON
import PosternSupport

extension JWK {
  /// The public key as JSON; nil for a symmetric key, which has no public half.
  public func publicJSON() -> JSONObject? {
    publicKey.map { $0.json(with: $0.material.requiredMembers(revealingSymmetric: false)) }
  }

  /// The key as JSON with its private members. Search for this name to find where key material is exported.
  public func privateJSONRevealingSecrets() throws(CryptoError) -> JSONObject {
    json(with: material.requiredMembers(revealingSymmetric: true) + (try material.privateMembers()))
  }

  private func json(with members: [(String, JSONValue)]) -> JSONObject {
    var object = JSONObject(members)
    object["kid"] = keyID.map { .string($0) }
    object["alg"] = algorithm.map { .string($0) }
    object["use"] = use.map { .string($0) }
    object["key_ops"] = operations.map { .array($0.map { .string($0) }) }
    if !certificates.isEmpty { object["x5c"] = .array(certificates.map { .string(Base64.string($0.bytes)) }) }
    return object
  }
}

extension KeyMaterial {
  /// The required members of the public key, `kty` included (RFC 7518 section 6, RFC 8037 section 2), in the order of
  /// their names, as the thumbprint hashes them (RFC 7638). For a symmetric key, `k` only with `revealingSymmetric`.
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

  /// The members of the private key.
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
