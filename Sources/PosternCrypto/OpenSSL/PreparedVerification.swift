import CPosternOpenSSL

/// A verification set up once for a key and a scheme, and copied for each signature: setting up means look-ups by name
/// under locks, a seventh of the time an RSA verification takes.
final class PreparedVerification: @unchecked Sendable {
  // Sendable because the context is only read once it is set up: copying it takes references that are counted
  // atomically.
  private let context: OpaquePointer

  /// Sets up verification with `key`, hashing with `hash` unless the scheme hashes by itself; `configure` sets
  /// paddings.
  init?(key: EVPKey, hash: HashFunction?, configure: (OpaquePointer) -> Bool = { _ in true }) {
    let context = ErrorQueue.discarding { () -> OpaquePointer? in
      guard let context = EVP_MD_CTX_new() else { return nil }
      var keyContext: OpaquePointer?
      guard key.withPointer({ EVP_DigestVerifyInit(context, &keyContext, hash?.pointer, nil, $0) }) == 1,
        let keyContext, configure(keyContext)
      else {
        EVP_MD_CTX_free(context)
        return nil
      }
      return context
    }
    guard let context else { return nil }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Whether `signature` is one of the key over `message`.
  func isValid(_ signature: UnsafeRawBufferPointer, of message: RawSpan) -> Bool {
    ErrorQueue.discarding {
      guard let copy = EVP_MD_CTX_new() else { return false }
      defer { EVP_MD_CTX_free(copy) }
      guard withExtendedLifetime(self, { EVP_MD_CTX_copy_ex(copy, context) }) == 1 else { return false }
      return message.withUnsafeBytes { message in
        EVP_DigestVerify(copy, signature.bytes, signature.count, message.bytes, message.count) == 1
      }
    }
  }
}
