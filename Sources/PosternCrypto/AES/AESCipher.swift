import CPosternOpenSSL

/// One run of an AES mode over one message.
enum AESCipher {
  enum Mode: Sendable {
    case gcm
    case cbc
    case keyWrap
  }

  /// Runs `body` with a context for `mode` under `key`, ready but for the IV, between a clean and a drained error
  /// queue.
  static func withContext<Value>(
    _ mode: Mode, key: SymmetricKey, _ body: (_ context: OpaquePointer, _ cipher: OpaquePointer) -> Value?
  ) throws(CryptoError) -> Value? {
    let size = try AESKeySize(of: key)
    return ErrorQueue.discarding {
      guard let cipher = cipher(mode, size), let context = EVP_CIPHER_CTX_new() else { return nil }
      defer { EVP_CIPHER_CTX_free(context) }
      EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
      return body(context, cipher)
    }
  }

  /// Feeds `input` and appends the result to `output`, which has room for it; the count of bytes written.
  static func update(
    _ context: OpaquePointer, _ input: UnsafeRawBufferPointer, into output: UnsafeMutablePointer<UInt8>?
  ) -> Int? {
    // OpenSSL takes a null input for the end of the message in some modes.
    guard let start = input.bytes else { return 0 }
    var written: Int32 = 0
    guard let count = Int32(exactly: input.count), EVP_CipherUpdate(context, output, &written, start, count) == 1 else {
      return nil
    }
    return Int(written)
  }

  private static func cipher(_ mode: Mode, _ size: AESKeySize) -> OpaquePointer? {
    switch (mode, size) {
    case (.gcm, .bits128): gcm128
    case (.gcm, .bits192): gcm192
    case (.gcm, .bits256): gcm256
    case (.cbc, .bits128): cbc128
    case (.cbc, .bits192): cbc192
    case (.cbc, .bits256): cbc256
    case (.keyWrap, .bits128): wrap128
    case (.keyWrap, .bits192): wrap192
    case (.keyWrap, .bits256): wrap256
    }
  }

  // Unsafe only in name: an EVP_CIPHER is immutable once fetched, and these are never freed.
  nonisolated(unsafe) private static let gcm128 = EVP_CIPHER_fetch(nil, "AES-128-GCM", nil)
  // As above.
  nonisolated(unsafe) private static let gcm192 = EVP_CIPHER_fetch(nil, "AES-192-GCM", nil)
  // As above.
  nonisolated(unsafe) private static let gcm256 = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
  // As above.
  nonisolated(unsafe) private static let cbc128 = EVP_CIPHER_fetch(nil, "AES-128-CBC", nil)
  // As above.
  nonisolated(unsafe) private static let cbc192 = EVP_CIPHER_fetch(nil, "AES-192-CBC", nil)
  // As above.
  nonisolated(unsafe) private static let cbc256 = EVP_CIPHER_fetch(nil, "AES-256-CBC", nil)
  // As above.
  nonisolated(unsafe) private static let wrap128 = EVP_CIPHER_fetch(nil, "AES-128-WRAP", nil)
  // As above.
  nonisolated(unsafe) private static let wrap192 = EVP_CIPHER_fetch(nil, "AES-192-WRAP", nil)
  // As above.
  nonisolated(unsafe) private static let wrap256 = EVP_CIPHER_fetch(nil, "AES-256-WRAP", nil)
}
