public import PosternCrypto

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

  /// A fresh key pair for Diffie-Hellman on a Montgomery curve.
  public static func generateMontgomery(
    _ curve: MontgomeryCurve, keyID: String? = nil
  ) throws(CryptoError) -> JWK {
    try JWK(.montgomeryPrivate(.generate(curve)), keyID: keyID)
  }

  /// A key of the given secret bytes.
  public static func symmetric(_ secret: [UInt8], keyID: String? = nil, algorithm: String? = nil) -> JWK {
    JWK(.symmetric(SymmetricKey(secret)), keyID: keyID, algorithm: algorithm)
  }
}
