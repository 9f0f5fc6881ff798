import CPosternOpenSSL
import PosternSupport

/// A signature verification, set up once for a key and a scheme and copied for each signature: setting up involves
/// look-ups by name under locks, which take a seventh of the time of an RSA verification.
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

/// The prepared verifications of one key, one for each scheme, made at first use.
final class PreparedVerifications<Scheme: Hashable & Sendable>: Sendable {
  private let prepared = Locked<[(scheme: Scheme, verification: PreparedVerification)]>([])

  /// The verification for `scheme`, made with `make` at its first use, outside of the lock; nil when that fails.
  func verification(for scheme: Scheme, make: () -> PreparedVerification?) -> PreparedVerification? {
    let known = prepared.withLock { prepared in prepared.first { $0.scheme == scheme }?.verification }
    if let known { return known }
    guard let made = make() else { return nil }
    prepared.withLock { prepared in
      // Another thread may have made one meanwhile: either of the two will do.
      if !prepared.contains(where: { $0.scheme == scheme }) { prepared.append((scheme, made)) }
    }
    return made
  }
}
