import CPosternOpenSSL

/// A key pair whose kind became known only when it was parsed.
public enum ImportedPrivateKey: Sendable {
  /// RSA.
  case rsa(RSAPrivateKey)
  /// A Weierstrass curve.
  case ec(ECPrivateKey)
  /// EdDSA.
  case edwards(EdwardsPrivateKey)
  /// Diffie-Hellman on a Montgomery curve.
  case montgomery(MontgomeryPrivateKey)

  /// Longer texts are not looked at.
  public static let maximumByteCount = 64 * 1024

  /// The first private key in a PEM text: PKCS#8 (`PRIVATE KEY`), SEC 1 (`EC PRIVATE KEY`) or PKCS#1 (`RSA PRIVATE
  /// KEY`).
  ///
  /// `invalidKey` when there is none, when it is encrypted (nobody is asked for a password) or inconsistent;
  /// `unsupported` when it is of another kind, RSA-PSS keys with fixed parameters included.
  public init(pem text: [UInt8]) throws(CryptoError) {
    guard !text.isEmpty, text.count <= Self.maximumByteCount else {
      throw CryptoError(code: .invalidInput, message: "PEM text is empty or too large")
    }
    let key = try ErrorQueue.checked(.invalidKey, "no usable private key in the PEM text") { () -> EVPKey? in
      text.withUnsafeBytes { text in
        guard let bio = BIO_new_mem_buf(text.baseAddress, Int32(text.count)) else { return nil }
        defer { BIO_free(bio) }
        return postern_pem_read_private_key(bio).map(EVPKey.init(owning:))
      }
    }
    try self.init(of: key)
  }

  private init(of key: EVPKey) throws(CryptoError) {
    switch key.kind {
    case .rsa?: self = .rsa(try RSAPrivateKey(key: key))
    case .ec?:
      self = .ec(try ECPrivateKey(key: key))
      try key.checkPair()
    case .edwards(let curve)?: self = .edwards(try EdwardsPrivateKey(curve: curve, key: key))
    case .montgomery(let curve)?: self = .montgomery(try MontgomeryPrivateKey(curve: curve, key: key))
    case nil: throw CryptoError(code: .unsupported, message: "kind of key is not supported")
    }
  }
}
