import CPosternOpenSSL

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

  /// The first public key in a PEM text (`PUBLIC KEY`, RFC 7468 section 13), or that of its first certificate.
  ///
  /// `invalidKey` when there is neither; `unsupported` when it is of another kind.
  public init(pem text: [UInt8]) throws(CryptoError) {
    guard !text.isEmpty, text.count <= ImportedPrivateKey.maximumByteCount else {
      throw CryptoError(code: .invalidInput, message: "PEM text is empty or too large")
    }
    let key = try ErrorQueue.checked(.invalidKey, "no usable public key or certificate in the PEM text") {
      Self.read(text, postern_pem_read_public_key)
        ?? Self.read(text) { bio in
          guard let certificate = postern_pem_read_certificate(bio) else { return nil }
          defer { X509_free(certificate) }
          return X509_get_pubkey(certificate)
        }
    }
    try self.init(of: key)
  }

  private static func read(_ text: [UInt8], _ parse: (OpaquePointer) -> OpaquePointer?) -> EVPKey? {
    text.withUnsafeBytes { text in
      guard let bio = BIO_new_mem_buf(text.baseAddress, Int32(text.count)) else { return nil }
      defer { BIO_free(bio) }
      return parse(bio).map(EVPKey.init(owning:))
    }
  }

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
