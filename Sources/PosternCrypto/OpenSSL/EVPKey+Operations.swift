import CPosternOpenSSL

extension EVPKey {
  /// Signs `message`, hashed with `hash` unless the scheme hashes by itself; `configure` sets paddings.
  func sign(
    _ message: RawSpan, hash: HashFunction?, configure: (OpaquePointer) -> Bool = { _ in true }
  ) throws(CryptoError) -> [UInt8] {
    try ErrorQueue.checked(.operationFailed, "signing") {
      guard let context = EVP_MD_CTX_new() else { return nil }
      defer { EVP_MD_CTX_free(context) }
      var keyContext: OpaquePointer?
      guard withPointer({ EVP_DigestSignInit(context, &keyContext, hash?.pointer, nil, $0) }) == 1,
        let keyContext, configure(keyContext)
      else { return nil }
      return message.withUnsafeBytes { message -> [UInt8]? in
        let input = message.bytes
        var capacity = 0
        guard EVP_DigestSign(context, nil, &capacity, input, message.count) == 1 else { return nil }
        var succeeded = false
        let signature = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
          succeeded = EVP_DigestSign(context, buffer.baseAddress, &capacity, input, message.count) == 1
          count = succeeded ? capacity : 0
        }
        return succeeded ? signature : nil
      }
    }
  }
}

extension EVPKey {
  /// The Diffie-Hellman secret shared with `peer`. OpenSSL checks the peer's point, and fails when the secret of a
  /// Montgomery curve is all zero (RFC 7748 section 6).
  func derive(with peer: EVPKey) throws(CryptoError) -> SymmetricKey {
    try ErrorQueue.checked(.invalidKey, "key agreement") {
      withPointer { key in
        peer.withPointer { peer in
          guard let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
          defer { EVP_PKEY_CTX_free(context) }
          var size = 0
          guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1,
            EVP_PKEY_derive(context, nil, &size) == 1
          else { return nil }
          return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size) { buffer in
            defer { OPENSSL_cleanse(buffer.baseAddress, buffer.count) }
            guard EVP_PKEY_derive(context, buffer.baseAddress, &size) == 1, size <= buffer.count else { return nil }
            return SymmetricKey(copying: buffer[..<size])
          }
        }
      }
    }
  }
}
