public import PosternCrypto
public import PosternSupport

extension JWK {
  /// A fresh RSA key pair.
  public static func generateRSA(
    bitCount: Int = 2048, keyID: String? = nil, algorithm: SignatureAlgorithm? = nil
  ) throws(CryptoError) -> JWK {
    try JWK(.rsaPrivate(.generate(bitCount: bitCount)), keyID: keyID, algorithm: algorithm?.name)
  }

  /// A fresh key pair on a Weierstrass curve.
  public static func generateEC(
    _ curve: ECCurve, keyID: String? = nil, algorithm: SignatureAlgorithm? = nil
  ) throws(CryptoError) -> JWK {
    try JWK(.ecPrivate(.generate(curve)), keyID: keyID, algorithm: algorithm?.name)
  }

  /// A fresh key pair of EdDSA.
  public static func generateEdwards(
    _ curve: EdwardsCurve, keyID: String? = nil, algorithm: SignatureAlgorithm? = nil
  ) throws(CryptoError) -> JWK {
    try JWK(.edwardsPrivate(.generate(curve)), keyID: keyID, algorithm: algorithm?.name)
  }

  /// A key of the given secret bytes.
  public static func symmetric(_ secret: [UInt8], keyID: String? = nil, algorithm: String? = nil) -> JWK {
    JWK(.symmetric(SymmetricKey(secret)), keyID: keyID, algorithm: algorithm)
  }
}

extension JWK {
  /// A client secret as the key of HS256, HS384 and HS512: its UTF-8 bytes (OpenID Connect Core section 10.1).
  public static func clientSecret(_ secret: Secret<String>) -> JWK {
    JWK(.symmetric(SymmetricKey(Array(secret.reveal().utf8))))
  }

  /// The key for `algorithm` derived from a client secret: the left part of a SHA-2 hash of its UTF-8 bytes, as long as
  /// needed (OpenID Connect Core section 10.2). Nil for an algorithm that takes no shared key of a fixed length.
  public static func clientSecret(
    _ secret: Secret<String>, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption
  ) -> JWK? {
    guard let count = algorithm.sharedKeyByteCount(encryption) else { return nil }
    let hash: HashFunction = count <= 32 ? .sha256 : (count <= 48 ? .sha384 : .sha512)
    return JWK(.symmetric(SymmetricKey(Array(hash.hash(Array(secret.reveal().utf8))[..<count]))))
  }
}
