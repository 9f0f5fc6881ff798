import CPosternOpenSSL

/// An RSA key pair. A value over one immutable OpenSSL key.
public struct RSAPrivateKey: Sendable {
  /// The public half.
  public let publicKey: RSAPublicKey
  let key: EVPKey

  /// A fresh key of `bitCount` bits with the exponent 65537.
  public static func generate(bitCount: Int) throws(CryptoError) -> RSAPrivateKey {
    guard (1024...RSAPublicKey.maximumBitCount).contains(bitCount) else {
      throw CryptoError(code: .invalidInput, message: "RSA keys have 1024 to \(RSAPublicKey.maximumBitCount) bits")
    }
    return try RSAPrivateKey(
      key: EVPKey.generate(type: "RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(bitCount)) })
  }

  /// A key of its components; `invalidKey` unless they belong together.
  public init(_ components: RSAPrivateComponents) throws(CryptoError) {
    publicKey = try RSAPublicKey(modulus: components.modulus, exponent: components.exponent)
    guard components.secrets.allSatisfy({ !$0.isEmpty && $0.count <= components.modulus.count }) else {
      throw CryptoError(code: .invalidKey, message: "RSA private component of impossible length")
    }
    key = try ErrorQueue.checked(.invalidKey, "RSA private key") {
      var parameters = KeyParameters()
      parameters.add(ParameterName.rsaModulus, integer: components.modulus)
      parameters.add(ParameterName.rsaExponent, integer: components.exponent)
      parameters.add(ParameterName.rsaPrivateExponent, integer: components.privateExponent)
      parameters.add(ParameterName.rsaPrime1, integer: components.prime1)
      parameters.add(ParameterName.rsaPrime2, integer: components.prime2)
      parameters.add(ParameterName.rsaExponent1, integer: components.exponent1)
      parameters.add(ParameterName.rsaExponent2, integer: components.exponent2)
      parameters.add(ParameterName.rsaCoefficient, integer: components.coefficient)
      return parameters.makeKey(type: "RSA", selection: postern_evp_pkey_keypair)
    }
    try Self.check(components)
  }

  /// A key that OpenSSL has made or parsed.
  init(key: EVPKey) throws(CryptoError) {
    publicKey = try RSAPublicKey(of: key)
    self.key = key
    try Self.check(revealComponents())
  }

  /// The components, private ones included. Search for this name to find where key material leaves its box.
  public func revealComponents() throws(CryptoError) -> RSAPrivateComponents {
    try RSAPrivateComponents(
      modulus: publicKey.modulus,
      exponent: publicKey.exponent,
      privateExponent: key.integer(ParameterName.rsaPrivateExponent),
      prime1: key.integer(ParameterName.rsaPrime1),
      prime2: key.integer(ParameterName.rsaPrime2),
      exponent1: key.integer(ParameterName.rsaExponent1),
      exponent2: key.integer(ParameterName.rsaExponent2),
      coefficient: key.integer(ParameterName.rsaCoefficient))
  }

  /// The signature of `message`.
  public func signature(for message: RawSpan, scheme: RSASignatureScheme) throws(CryptoError) -> [UInt8] {
    try key.sign(message, hash: scheme.hashFunction, configure: scheme.configure)
  }

  private static func check(_ components: RSAPrivateComponents) throws(CryptoError) {
    guard components.areConsistent() else {
      throw CryptoError(code: .invalidKey, message: "the numbers of the RSA private key do not belong together")
    }
  }
}
