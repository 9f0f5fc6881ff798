import CPosternOpenSSL

/// OpenSSL as a whole.
enum Library {
  /// Starts OpenSSL without its exit handler, which would free what other threads still use while the process exits. It
  /// must come before any other call into the library, so every way in passes here; it happens once.
  static let isReady: Bool = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
