import CPosternOpenSSL
public import PosternSupport

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

  /// The components, private ones included. Search for this name to find where key material is exported.
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

/// The numbers of an RSA private key (RFC 8017 section 3.2, the form with two primes), big-endian.
public struct RSAPrivateComponents: Sendable {
  /// n.
  public var modulus: [UInt8]
  /// e.
  public var exponent: [UInt8]
  /// d.
  public var privateExponent: [UInt8]
  /// p.
  public var prime1: [UInt8]
  /// q.
  public var prime2: [UInt8]
  /// d mod (p − 1).
  public var exponent1: [UInt8]
  /// d mod (q − 1).
  public var exponent2: [UInt8]
  /// q⁻¹ mod p.
  public var coefficient: [UInt8]

  /// The given numbers.
  public init(
    modulus: [UInt8], exponent: [UInt8], privateExponent: [UInt8], prime1: [UInt8], prime2: [UInt8],
    exponent1: [UInt8], exponent2: [UInt8], coefficient: [UInt8]
  ) {
    self.modulus = modulus
    self.exponent = exponent
    self.privateExponent = privateExponent
    self.prime1 = prime1
    self.prime2 = prime2
    self.exponent1 = exponent1
    self.exponent2 = exponent2
    self.coefficient = coefficient
  }

  var secrets: [[UInt8]] { [privateExponent, prime1, prime2, exponent1, exponent2, coefficient] }
}

extension RSAPrivateComponents: ConciseStringConvertible, CustomDebugStringConvertible {
  /// Always `<secret>`.
  public var description: String { "<secret>" }
  /// Always `<secret>`.
  public var debugDescription: String { "<secret>" }
}

extension RSAPrivateComponents {
  /// Whether the numbers belong together: n = p·q, dp = d mod (p − 1), dq = d mod (q − 1), e·dp ≡ 1, e·dq ≡ 1,
  /// qi·q ≡ 1.
  ///
  /// Takes microseconds. OpenSSL's own check also tests whether p and q are prime and takes seconds for a large key,
  /// too long for a key that a caller may send with every request; a p or q that is not prime harms only that caller.
  func areConsistent() -> Bool {
    ErrorQueue.discarding {
      guard let context = BN_CTX_new() else { return false }
      defer { BN_CTX_free(context) }
      let numbers = ([modulus, exponent] + secrets).map { BN_bin2bn($0, Int32(clamping: $0.count), nil) }
      defer { for number in numbers { BN_clear_free(number) } }
      guard let result = BN_new(), let minusOne = BN_new() else { return false }
      defer {
        BN_clear_free(result)
        BN_clear_free(minusOne)
      }
      func isInverse(_ left: OpaquePointer?, _ right: OpaquePointer?, modulo: OpaquePointer?) -> Bool {
        BN_mod_mul(result, left, right, modulo, context) == 1 && BN_is_one(result) == 1
      }
      func isExponent(_ reduced: OpaquePointer?, for prime: OpaquePointer?) -> Bool {
        BN_copy(minusOne, prime) != nil && BN_sub_word(minusOne, 1) == 1
          && BN_div(nil, result, numbers[2], minusOne, context) == 1 && BN_cmp(result, reduced) == 0
          && isInverse(numbers[1], reduced, modulo: minusOne)
      }
      return BN_mul(result, numbers[3], numbers[4], context) == 1 && BN_cmp(result, numbers[0]) == 0
        && isExponent(numbers[5], for: numbers[3]) && isExponent(numbers[6], for: numbers[4])
        && isInverse(numbers[7], numbers[4], modulo: numbers[3])
    }
  }
}

extension RSAPrivateKey: ConciseStringConvertible {
  /// The size: never key material.
  public var description: String { "RSA private key of \(publicKey.bitCount) bits" }
}
