public import PosternCrypto
public import PosternSupport

/// A key without its metadata. One case for each kind, so that the bytes of one kind cannot be used as another.
public enum KeyMaterial: Sendable {
  /// An RSA public key.
  case rsaPublic(RSAPublicKey)
  /// An RSA key pair.
  case rsaPrivate(RSAPrivateKey)
  /// A public key on a Weierstrass curve.
  case ecPublic(ECPublicKey)
  /// A key pair on a Weierstrass curve.
  case ecPrivate(ECPrivateKey)
  /// A public key of EdDSA.
  case edwardsPublic(EdwardsPublicKey)
  /// A key pair of EdDSA.
  case edwardsPrivate(EdwardsPrivateKey)
  /// A public key of X25519.
  case montgomeryPublic(MontgomeryPublicKey)
  /// A key pair of X25519.
  case montgomeryPrivate(MontgomeryPrivateKey)
  /// A shared secret.
  case symmetric(SymmetricKey)

  /// The family of the key: its `kty`.
  public var keyType: KeyType {
    switch self {
    case .rsaPublic, .rsaPrivate: .rsa
    case .ecPublic, .ecPrivate: .ec
    case .edwardsPublic, .edwardsPrivate, .montgomeryPublic, .montgomeryPrivate: .okp
    case .symmetric: .oct
    }
  }

  /// Whether it contains private or shared key material.
  public var isSecret: Bool {
    switch self {
    case .rsaPublic, .ecPublic, .edwardsPublic, .montgomeryPublic: false
    case .rsaPrivate, .ecPrivate, .edwardsPrivate, .montgomeryPrivate, .symmetric: true
    }
  }

  /// The public half; nil for a symmetric key, which has none.
  public var publicMaterial: KeyMaterial? {
    switch self {
    case .rsaPublic, .ecPublic, .edwardsPublic, .montgomeryPublic: self
    case .rsaPrivate(let key): .rsaPublic(key.publicKey)
    case .ecPrivate(let key): .ecPublic(key.publicKey)
    case .edwardsPrivate(let key): .edwardsPublic(key.publicKey)
    case .montgomeryPrivate(let key): .montgomeryPublic(key.publicKey)
    case .symmetric: nil
    }
  }

  /// Its size in bits: of the modulus, of a coordinate, of the secret.
  var bitCount: Int {
    switch self {
    case .rsaPublic(let key): key.bitCount
    case .rsaPrivate(let key): key.publicKey.bitCount
    case .ecPublic(let key): key.curve.coordinateByteCount * 8
    case .ecPrivate(let key): key.publicKey.curve.coordinateByteCount * 8
    case .edwardsPublic(let key): key.bytes.count * 8
    case .edwardsPrivate(let key): key.publicKey.bytes.count * 8
    case .montgomeryPublic(let key): key.bytes.count * 8
    case .montgomeryPrivate(let key): key.publicKey.bytes.count * 8
    case .symmetric(let key): key.byteCount * 8
    }
  }

  var curve: KeyCurve? {
    switch self {
    case .rsaPublic, .rsaPrivate, .symmetric: nil
    case .ecPublic(let key): .weierstrass(key.curve)
    case .ecPrivate(let key): .weierstrass(key.publicKey.curve)
    case .edwardsPublic(let key): .edwards(key.curve)
    case .edwardsPrivate(let key): .edwards(key.publicKey.curve)
    case .montgomeryPublic(let key): .montgomery(key.curve)
    case .montgomeryPrivate(let key): .montgomery(key.publicKey.curve)
    }
  }
}

extension KeyMaterial: ConciseStringConvertible {
  /// The kind of key: never key material.
  public var description: String { "\(isSecret ? "secret" : "public") \(keyType.rawValue) key of \(bitCount) bits" }
}
