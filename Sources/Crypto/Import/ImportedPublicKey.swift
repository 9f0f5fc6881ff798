import COpenSSL

/// A public key whose kind became known only when it was parsed.
public enum ImportedPublicKey: Sendable {
  /// RSA.
  case rsa(RSAPublicKey)
  /// A Weierstrass curve.
  case ec(ECPublicKey)
  /// EdDSA.
  case edwards(EdwardsPublicKey)
  /// Diffie-Hellman on a Montgomery curve.
  case montgomery(MontgomeryPublicKey)

  /// The key OpenSSL has parsed; `unsupported` when it is of another kind.
  init(of key: EVPKey) throws(CryptoError) {
    switch key.kind {
    case .rsa?: self = .rsa(try RSAPublicKey(of: key))
    case .ec?: self = .ec(try ECPublicKey(of: key))
    case .edwards(let curve)?:
      self = .edwards(try EdwardsPublicKey(curve: curve, bytes: key.rawPublicBytes(byteCount: curve.keyByteCount)))
    case .montgomery(let curve)?:
      self = .montgomery(
        try MontgomeryPublicKey(curve: curve, bytes: key.rawPublicBytes(byteCount: curve.keyByteCount)))
    case nil: throw CryptoError(code: .unsupported, message: "kind of key is not supported")
    }
  }
}
