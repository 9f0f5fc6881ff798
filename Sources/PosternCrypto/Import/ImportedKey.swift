import CPosternOpenSSL
public import PosternSupport

/// A key pair of any supported kind, parsed from PEM.
public enum ImportedPrivateKey: Sendable {
  /// RSA.
  case rsa(RSAPrivateKey)
  /// A Weierstrass curve.
  case ec(ECPrivateKey)
  /// EdDSA.
  case edwards(EdwardsPrivateKey)
  /// Diffie-Hellman on a Montgomery curve.
  case montgomery(MontgomeryPrivateKey)

  /// The first private key in a PEM text: PKCS#8 (`PRIVATE KEY`), SEC 1 (`EC PRIVATE KEY`) or PKCS#1
  /// (`RSA PRIVATE KEY`).
  ///
  /// `invalidKey` when there is none, when it is encrypted (there is no prompt for a password) or inconsistent;
  /// `unsupported` when it is of another kind, RSA-PSS keys with fixed parameters included.
  public init(pem text: [UInt8]) throws(CryptoError) {
    try self.init(of: PEM.privateKey(text, "no usable private key in the PEM text"))
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

/// A public key of any supported kind, parsed from PEM or a certificate.
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
    let key = try PEM.read(
      text, orThrow: .invalidKey, "no usable public key or certificate in the PEM text",
      postern_pem_read_public_key,
      { bio in
        guard let certificate = postern_pem_read_certificate(bio) else { return nil }
        defer { X509_free(certificate) }
        return X509_get_pubkey(certificate)
      })
    try self.init(of: EVPKey(owning: key))
  }

  /// A key that OpenSSL has parsed; `unsupported` when it is of another kind.
  init(of key: EVPKey) throws(CryptoError) {
    switch key.kind {
    case .rsa?: self = .rsa(try RSAPublicKey(of: key))
    case .ec?: self = .ec(try ECPublicKey(of: key))
    case .edwards(let curve)?:
      self = .edwards(try EdwardsPublicKey(curve: curve, bytes: key.rawPublicBytes(curve)))
    case .montgomery(let curve)?:
      self = .montgomery(
        try MontgomeryPublicKey(curve: curve, bytes: key.rawPublicBytes(curve)))
    case nil: throw CryptoError(code: .unsupported, message: "kind of key is not supported")
    }
  }
}

/// Reading of PEM texts.
enum PEM {
  /// The largest accepted text.
  static let maximumByteCount = 64 * 1024

  /// The result of the first of `parsers` that finds something in `text`; an error of `code` and `message` when none
  /// does.
  static func read<Value>(
    _ text: [UInt8], orThrow code: CryptoError.Code, _ message: String, _ parsers: (OpaquePointer) -> Value?...
  ) throws(CryptoError) -> Value {
    guard !text.isEmpty, text.count <= maximumByteCount else {
      throw CryptoError(code: .invalidInput, message: "PEM text is empty or too large")
    }
    return try ErrorQueue.checked(code, message) {
      text.withUnsafeBytes { text in
        for parse in parsers {
          guard let bio = BIO_new_mem_buf(text.baseAddress, Int32(text.count)) else { return nil }
          defer { BIO_free(bio) }
          if let value = parse(bio) { return value }
        }
        return nil
      }
    }
  }

  /// The first private key in `text`; `invalidKey` with `message` when there is none, or only an encrypted one.
  static func privateKey(_ text: [UInt8], _ message: String) throws(CryptoError) -> EVPKey {
    EVPKey(owning: try read(text, orThrow: .invalidKey, message, postern_pem_read_private_key))
  }
}

extension ImportedPrivateKey: ConciseStringConvertible {
  /// The kind of key: never key material.
  public var description: String {
    switch self {
    case .rsa(let key): "\(key)"
    case .ec(let key): "\(key)"
    case .edwards(let key): "\(key)"
    case .montgomery(let key): "\(key)"
    }
  }
}

extension ImportedPublicKey: ConciseStringConvertible {
  /// The kind of key.
  public var description: String {
    switch self {
    case .rsa(let key): "\(key)"
    case .ec(let key): "\(key)"
    case .edwards(let key): "\(key)"
    case .montgomery(let key): "\(key)"
    }
  }
}
