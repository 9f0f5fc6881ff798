import CPosternOpenSSL

/// Owns one OpenSSL key (`EVP_PKEY`), parsed once and used by any number of threads.
final class EVPKey: @unchecked Sendable {
  // Sendable because the key is never changed after init; OpenSSL's reference counts and caches inside it are locked.
  private let pointer: OpaquePointer

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  deinit { EVP_PKEY_free(pointer) }

  /// Calls `body` with the pointer, which is valid during the call only.
  func withPointer<Value>(_ body: (OpaquePointer) -> Value) -> Value {
    withExtendedLifetime(self) { body(pointer) }
  }

  /// The size of the key in bits: of the modulus, or of the group order.
  var bitCount: Int { withPointer { Int(EVP_PKEY_get_bits($0)) } }

  /// A fresh key of `type`, with `configure` setting the parameters of its generation.
  static func generate(type: String, configure: (OpaquePointer) -> Int32 = { _ in 1 }) throws(CryptoError) -> EVPKey {
    try ErrorQueue.checked(.operationFailed, "\(type) key generation") {
      guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { return nil }
      defer { EVP_PKEY_CTX_free(context) }
      var key: OpaquePointer?
      guard EVP_PKEY_keygen_init(context) == 1, configure(context) == 1, EVP_PKEY_generate(context, &key) == 1 else {
        return nil
      }
      return key.map(EVPKey.init(owning:))
    }
  }

  /// A copy with a public key: `point` in the uncompressed form of SEC 1. Nil unless its coordinates are smaller than
  /// the field's order and it is on the curve, which OpenSSL checks as it reads the point. Our curves have the cofactor
  /// 1: each point of the curve is of the group, and the multiplication by its order would prove nothing more (NIST SP
  /// 800-56A revision 3, section 5.6.2.3.4).
  func copy(withPoint point: [UInt8]) -> EVPKey? {
    guard let copy = withPointer({ EVP_PKEY_dup($0) }) else { return nil }
    let key = EVPKey(owning: copy)
    return EVP_PKEY_set1_encoded_public_key(copy, point, point.count) == 1 ? key : nil
  }

  /// Throws `invalidKey` when private and public key do not belong together.
  func checkPair() throws(CryptoError) {
    try ErrorQueue.checked(.invalidKey, "private and public key do not belong together") {
      withPointer { key -> Void? in
        guard let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        return EVP_PKEY_pairwise_check(context) == 1 ? () : nil
      }
    }
  }

  /// OpenSSL's name of the group of an EC key.
  var groupName: String? {
    ErrorQueue.discarding {
      withPointer { key in
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 80) { buffer in
          var size = 0
          guard EVP_PKEY_get_group_name(key, buffer.baseAddress, buffer.count, &size) == 1 else { return nil }
          return buffer.baseAddress.map { String(cString: $0) }
        }
      }
    }
  }

  /// The number `name` of the key, big-endian without leading zeros.
  func integer(_ name: StaticString) throws(CryptoError) -> [UInt8] {
    try integer(name) { BigNumber.bytes(of: $0) }
  }

  /// The number `name` of the key, big-endian, exactly `byteCount` long.
  func integer(_ name: StaticString, byteCount: Int) throws(CryptoError) -> [UInt8] {
    try integer(name) { BigNumber.bytes(of: $0, count: byteCount) }
  }

  private func integer(_ name: StaticString, _ read: (OpaquePointer) -> [UInt8]?) throws(CryptoError) -> [UInt8] {
    try ErrorQueue.checked(.operationFailed, "key export") {
      withPointer { key in
        var number: OpaquePointer?
        defer { BN_clear_free(number) }
        guard EVP_PKEY_get_bn_param(key, name.characters, &number) == 1, let number else { return nil }
        return read(number)
      }
    }
  }
}

extension EVPKey {
  /// The families of keys that this module has types for.
  enum Kind {
    case rsa
    case ec
    case edwards(EdwardsCurve)
    case montgomery(MontgomeryCurve)
  }

  /// The family of a key that OpenSSL has parsed; nil when it is not supported.
  var kind: Kind? {
    ErrorQueue.discarding {
      withPointer { key in
        if EVP_PKEY_is_a(key, "RSA") == 1 { return .rsa }
        if EVP_PKEY_is_a(key, "EC") == 1 { return .ec }
        for curve in EdwardsCurve.allCases where EVP_PKEY_is_a(key, curve.keyType) == 1 { return .edwards(curve) }
        for curve in MontgomeryCurve.allCases where EVP_PKEY_is_a(key, curve.keyType) == 1 {
          return .montgomery(curve)
        }
        return nil
      }
    }
  }
}

/// A curve whose keys are byte strings of a fixed length (RFC 7748, RFC 8032).
protocol RawKeyCurve: Sendable {
  /// The length of a public key, and of a seed, in bytes.
  var keyByteCount: Int { get }
  /// OpenSSL's name of the key type.
  var keyType: String { get }
}

extension EVPKey {
  /// A public key given by its encoded point, which must have the curve's length.
  static func rawPublic(_ curve: some RawKeyCurve, bytes: [UInt8]) throws(CryptoError) -> EVPKey {
    guard bytes.count == curve.keyByteCount else {
      throw CryptoError(code: .invalidKey, message: "\(curve) public key of the wrong length")
    }
    return try ErrorQueue.checked(.invalidKey, "\(curve.keyType) public key") {
      EVP_PKEY_new_raw_public_key_ex(nil, curve.keyType, nil, bytes, bytes.count).map(EVPKey.init(owning:))
    }
  }

  /// A key pair given by its seed, which must have the curve's length. Throws `invalidKey` when `publicBytes` are given
  /// and are not its public key.
  static func rawPrivate(
    _ curve: some RawKeyCurve, seed: SymmetricKey, publicBytes: [UInt8]?
  ) throws(CryptoError) -> EVPKey {
    guard seed.byteCount == curve.keyByteCount else {
      throw CryptoError(code: .invalidKey, message: "\(curve) private key of the wrong length")
    }
    let key: EVPKey = try ErrorQueue.checked(.invalidKey, "\(curve.keyType) private key") {
      seed.withUnsafeBytes {
        EVP_PKEY_new_raw_private_key_ex(nil, curve.keyType, nil, $0.bytes, $0.count).map(EVPKey.init(owning:))
      }
    }
    if let publicBytes, try publicBytes != key.rawPublicBytes(curve) {
      throw CryptoError(code: .invalidKey, message: "private and public key do not belong together")
    }
    return key
  }

  /// The encoded public point.
  func rawPublicBytes(_ curve: some RawKeyCurve) throws(CryptoError) -> [UInt8] {
    try rawBytes(byteCount: curve.keyByteCount, EVP_PKEY_get_raw_public_key)
  }

  /// The seed.
  func rawPrivateBytes(_ curve: some RawKeyCurve) throws(CryptoError) -> SymmetricKey {
    SymmetricKey(try rawBytes(byteCount: curve.keyByteCount, EVP_PKEY_get_raw_private_key))
  }

  private func rawBytes(
    byteCount: Int, _ read: (OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?) -> Int32
  ) throws(CryptoError) -> [UInt8] {
    try ErrorQueue.checked(.operationFailed, "key export") {
      var size = byteCount
      var succeeded = false
      let bytes = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
        succeeded = withPointer { read($0, buffer.baseAddress, &size) } == 1 && size == byteCount
        count = succeeded ? byteCount : 0
      }
      return succeeded ? bytes : nil
    }
  }
}
