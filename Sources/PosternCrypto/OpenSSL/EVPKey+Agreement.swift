import CPosternOpenSSL

extension EVPKey {
  /// The Diffie-Hellman secret shared with `peer`. OpenSSL checks the peer's point, and refuses an all-zero secret of a
  /// Montgomery curve (RFC 7748 section 6).
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
