extension JWK {
  /// What to sign with when only the key is configured: its `alg`, else the usual algorithm of its type and curve
  /// (RS256, ES256, ES384, ES512, ES256K, EdDSA, HS256). Nil for a key that cannot sign.
  public var defaultSignatureAlgorithm: SignatureAlgorithm? {
    if let algorithm { return SignatureAlgorithm(name: algorithm) }
    return SignatureAlgorithm.defaults.first { $0.mismatch(with: self) == nil }
  }
}

extension SignatureAlgorithm {
  fileprivate static let defaults = [rs256, es256, es384, es512, es256k, edDSA, hs256]
}
