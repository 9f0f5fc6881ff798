import PosternCrypto
public import PosternSupport

/// A JWS algorithm: one row of the table of `alg` values (RFC 7518 section 3), with everything that the code needs to
/// know about it. The rows are in `SignatureAlgorithm+Table.swift`.
public struct SignatureAlgorithm: Sendable {
  /// The signature scheme, with the parameters that the name fixes.
  enum Scheme: Sendable, Hashable {
    case rsa(RSASignatureScheme)
    case ecdsa(ECCurve, HashFunction)
    case edwards(Set<EdwardsCurve>)
    case hmac(HashFunction)
  }

  /// The `alg` value.
  public let name: String
  /// The `kty` that its keys must have.
  public let keyType: KeyType
  /// The smallest key in bits; a curve has one size only.
  public let minimumKeyBitCount: Int
  let scheme: Scheme

  /// Whether one secret both signs and verifies; such a key must never come from a published key set.
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

extension SignatureAlgorithm: ConciseStringConvertible {
  /// The `alg` value.
  public var description: String { name }
}

extension SignatureAlgorithm {
  /// The row for a header's `alg`, if `allowed` contains it.
  ///
  /// `alg_not_supported` for a registered algorithm that this build lacks, `alg_not_allowed` for any other name that is
  /// not in the list: in another case, or `none`.
  public static func resolve(_ name: String, allowed: [SignatureAlgorithm]) throws(JOSEError) -> SignatureAlgorithm {
    guard let row = SignatureAlgorithm(name: name) else {
      guard registeredButUnsupported.contains(where: { $0.hasSameBytes(as: name) }) else { throw notAllowed }
      throw JOSEError(.algNotSupported, "the algorithm is not supported by this build", claim: "alg")
    }
    guard case .edwards(let curves) = row.scheme else {
      guard allowed.contains(row) else { throw notAllowed }
      return row
    }
    let narrowed = curves.intersection(allowedCurves(allowed))
    guard !narrowed.isEmpty else { throw notAllowed }
    return SignatureAlgorithm(
      name: row.name, keyType: row.keyType, minimumKeyBitCount: row.minimumKeyBitCount, scheme: .edwards(narrowed))
  }

  /// The curves that an allow-list permits, whichever name a token has: `EdDSA` stands for both (RFC 8037 section 3.1),
  /// `Ed25519` and `Ed448` for one each (RFC 9864 section 2.2).
  private static func allowedCurves(_ allowed: [SignatureAlgorithm]) -> Set<EdwardsCurve> {
    allowed.reduce(into: []) { curves, algorithm in
      guard case .edwards(let own) = algorithm.scheme else { return }
      curves.formUnion(own)
    }
  }

  private static var notAllowed: JOSEError {
    JOSEError(.algNotAllowed, "the token's algorithm is not in the allow-list", claim: "alg")
  }
}

extension SignatureAlgorithm {
  /// The error for a `key` that this algorithm cannot be used with, whatever its size; nil for one it can.
  func mismatch(with key: JWK) -> JOSEError? {
    guard key.keyType == keyType else {
      return JOSEError(.keyAlgMismatch, "\(name) needs a key of type \(keyType.rawValue), not \(key.keyType.rawValue)")
    }
    guard accepts(key.material.curve) else {
      return JOSEError(.keyAlgMismatch, "the key's curve is not one of \(name)")
    }
    guard key.algorithm?.hasSameBytes(as: name) ?? true else {
      return JOSEError(.keyAlgMismatch, "the key is for another algorithm than \(name)")
    }
    return nil
  }

  /// The error for a `key` that is too small; nil when it is not.
  func weakness(of key: JWK) -> JOSEError? { key.weakness(below: minimumKeyBitCount, for: name) }

  private func accepts(_ curve: KeyCurve?) -> Bool {
    switch (scheme, curve) {
    case (.rsa, nil), (.hmac, nil): true
    case (.ecdsa(let expected, _), .weierstrass(let actual)?): expected == actual
    case (.edwards(let expected), .edwards(let actual)?): expected.contains(actual)
    default: false
    }
  }
}

extension SignatureAlgorithm {
  /// Whether `signature` is one of `key` over `message`. False for a key of another kind.
  func verify(_ signature: [UInt8], of message: RawSpan, with key: KeyMaterial) -> Bool {
    switch (scheme, key.publicMaterial ?? key) {
    case (.rsa(let scheme), .rsaPublic(let key)):
      key.isValidSignature(signature, for: message, scheme: scheme)
    case (.ecdsa(let curve, let hash), .ecPublic(let key)) where key.curve == curve:
      key.isValidSignature(signature, for: message, hash: hash)
    case (.edwards(let curves), .edwardsPublic(let key)) where curves.contains(key.curve):
      key.isValidSignature(signature, for: message)
    case (.hmac(let hash), .symmetric(let key)):
      (try? HMAC.authenticate(message, using: hash, key: key)).map { ConstantTime.equals($0, signature) } ?? false
    default: false
    }
  }

  /// The signature of `message` by `key`.
  func sign(_ message: RawSpan, with key: KeyMaterial) throws(JOSEError) -> [UInt8] {
    do throws(CryptoError) {
      switch (scheme, key) {
      case (.rsa(let scheme), .rsaPrivate(let key)):
        return try key.signature(for: message, scheme: scheme)
      case (.ecdsa(let curve, let hash), .ecPrivate(let key)) where key.publicKey.curve == curve:
        return try key.signature(for: message, hash: hash)
      case (.edwards(let curves), .edwardsPrivate(let key)) where curves.contains(key.publicKey.curve):
        return try key.signature(for: message)
      case (.hmac(let hash), .symmetric(let key)):
        return try HMAC.authenticate(message, using: hash, key: key)
      default: break
      }
    } catch {
      throw JOSEError(.operationFailed, error.message)
    }
    throw JOSEError(.invalidKey, "\(name) cannot sign with this key: it is public or of another kind")
  }
}
