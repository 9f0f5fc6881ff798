import CPosternOpenSSL

/// The owner of one OpenSSL key, parsed once and used by any number of threads.
final class EVPKey: @unchecked Sendable {
  // Sendable because the key is never changed after init; OpenSSL's reference counts and caches inside it are locked.
  private let pointer: OpaquePointer

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  deinit { EVP_PKEY_free(pointer) }

  /// Lends the pointer to `body`; it must not be kept.
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

  /// Refuses a public key that is no point of its group.
  func checkPublic() throws(CryptoError) {
    try check("public key is not a point of the curve", EVP_PKEY_public_check)
  }

  /// Refuses a pair whose halves do not belong together, or whose primes are none.
  func checkPair() throws(CryptoError) {
    try check("private and public key do not belong together", EVP_PKEY_pairwise_check)
  }

  private func check(_ fault: String, _ check: (OpaquePointer?) -> Int32) throws(CryptoError) {
    try ErrorQueue.checked(.invalidKey, fault) {
      withPointer { key -> Void? in
        guard let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        return check(context) == 1 ? () : nil
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
