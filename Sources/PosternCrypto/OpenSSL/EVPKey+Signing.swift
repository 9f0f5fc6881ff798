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
