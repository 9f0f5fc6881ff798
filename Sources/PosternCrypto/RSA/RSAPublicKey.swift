import CPosternOpenSSL
public import PosternSupport

/// An RSA public key. A value over one immutable OpenSSL key.
public struct RSAPublicKey: Sendable {
  /// The largest accepted modulus: operations with larger ones cost too much.
  public static let maximumBitCount = 8192

  /// The modulus, big-endian without leading zeros.
  public let modulus: [UInt8]
  /// The public exponent, big-endian without leading zeros.
  public let exponent: [UInt8]
  /// The size of the modulus in bits.
  public let bitCount: Int
  let key: EVPKey
  private let verifications = PreparedVerifications<RSASignatureScheme>()

  /// A key of big-endian components without leading zeros.
  ///
  /// `invalidKey` for impossible components, `weakKey` for an exponent of 1 or an even one. The modulus may be of any
  /// size up to `maximumBitCount`: how small is too small is the caller's rule.
  public init(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
    try Self.check(modulus: modulus, exponent: exponent)
    key = try ErrorQueue.checked(.invalidKey, "RSA public key") {
      var parameters = KeyParameters()
      parameters.add(ParameterName.rsaModulus, integer: modulus)
      parameters.add(ParameterName.rsaExponent, integer: exponent)
      return parameters.makeKey(type: "RSA", selection: postern_evp_pkey_public_key)
    }
    self.modulus = modulus
    self.exponent = exponent
    bitCount = key.bitCount
  }

  /// The public half of `key`.
  init(of key: EVPKey) throws(CryptoError) {
    try self.init(modulus: key.integer(ParameterName.rsaModulus), exponent: key.integer(ParameterName.rsaExponent))
  }

  /// Whether `signature` is one of this key over `message`. A signature that is not exactly as long as the modulus
  /// never is.
  public func isValidSignature(_ signature: [UInt8], for message: RawSpan, scheme: RSASignatureScheme) -> Bool {
    guard signature.count == modulus.count else { return false }
    let verification = verifications.verification(for: scheme) {
      PreparedVerification(key: key, hash: scheme.hashFunction, configure: scheme.configure)
    }
    return signature.withUnsafeBytes { verification?.isValid($0, of: message) ?? false }
  }

  private static func check(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
    guard let first = modulus.first, let last = modulus.last, first != 0, last & 1 == 1 else {
      throw CryptoError(code: .invalidKey, message: "RSA modulus is even, empty or begins with zeros")
    }
    guard modulus.count <= maximumBitCount / 8 else {
      throw CryptoError(code: .invalidKey, message: "RSA modulus is longer than \(maximumBitCount) bits")
    }
    guard let leading = exponent.first, let trailing = exponent.last, leading != 0, exponent.count <= 8 else {
      throw CryptoError(code: .invalidKey, message: "RSA exponent is empty, too long or begins with zeros")
    }
    guard trailing & 1 == 1, exponent != [1] else {
      throw CryptoError(code: .weakKey, message: "RSA exponent is even or 1")
    }
  }
}

/// An RSA signature scheme (RFC 8017 section 8): padding and hash function.
public struct RSASignatureScheme: Sendable, Hashable {
  enum Padding: Sendable, Hashable {
    case pkcs1v15
    case pss
  }

  let padding: Padding
  /// The hash function of the message.
  public let hashFunction: HashFunction

  /// RSASSA-PKCS1-v1_5.
  public static func pkcs1v15(_ hash: HashFunction) -> RSASignatureScheme {
    RSASignatureScheme(padding: .pkcs1v15, hashFunction: hash)
  }

  /// RSASSA-PSS with MGF1 over the same hash and a salt exactly as long as the hash (RFC 7518 section 3.5).
  public static func pss(_ hash: HashFunction) -> RSASignatureScheme {
    RSASignatureScheme(padding: .pss, hashFunction: hash)
  }

  func configure(_ context: OpaquePointer) -> Bool {
    switch padding {
    case .pkcs1v15:
      EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
    case .pss:
      EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
        && EVP_PKEY_CTX_set_rsa_mgf1_md(context, hashFunction.pointer) == 1
        && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1
    }
  }
}

extension RSAPublicKey: ConciseStringConvertible {
  /// The size.
  public var description: String { "RSA public key of \(bitCount) bits" }
}

extension RSASignatureScheme: ConciseStringConvertible {
  /// Padding and hash function.
  public var description: String { "\(padding) with \(hashFunction)" }
}
