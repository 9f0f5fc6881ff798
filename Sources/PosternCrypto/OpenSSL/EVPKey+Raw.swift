import CPosternOpenSSL

extension EVPKey {
  /// A public key given by its encoded point, for the curves of RFC 7748 and RFC 8032.
  static func rawPublic(type: String, bytes: [UInt8]) throws(CryptoError) -> EVPKey {
    try ErrorQueue.checked(.invalidKey, "\(type) public key") {
      EVP_PKEY_new_raw_public_key_ex(nil, type, nil, bytes, bytes.count).map(EVPKey.init(owning:))
    }
  }

  /// A key pair given by its seed.
  static func rawPrivate(type: String, seed: SymmetricKey) throws(CryptoError) -> EVPKey {
    try ErrorQueue.checked(.invalidKey, "\(type) private key") {
      seed.withUnsafeBytes {
        EVP_PKEY_new_raw_private_key_ex(nil, type, nil, $0.bytes, $0.count).map(EVPKey.init(owning:))
      }
    }
  }

  /// The encoded public point.
  func rawPublicBytes(byteCount: Int) throws(CryptoError) -> [UInt8] {
    try rawBytes(byteCount: byteCount, EVP_PKEY_get_raw_public_key)
  }

  /// The seed.
  func rawPrivateBytes(byteCount: Int) throws(CryptoError) -> SymmetricKey {
    SymmetricKey(try rawBytes(byteCount: byteCount, EVP_PKEY_get_raw_private_key))
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
