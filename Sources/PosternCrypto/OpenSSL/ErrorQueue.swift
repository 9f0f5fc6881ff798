import CPosternOpenSSL

/// Runs OpenSSL calls with its error queue cleared before and after them: the queue belongs to the thread, and another
/// task runs on the thread next.
enum ErrorQueue {
  /// Runs `body` and throws an error of `code`, with OpenSSL's reason, when it returns nil.
  static func checked<Value>(
    _ code: CryptoError.Code, _ what: String, _ body: () -> Value?
  ) throws(CryptoError) -> Value {
    _ = Library.isReady
    ERR_clear_error()
    guard let value = body() else { throw drained(code, what) }
    ERR_clear_error()
    return value
  }

  /// Runs `body` and discards OpenSSL's reasons. Errors that were in the queue before do no harm, since `body` does not
  /// read it. Looking is much cheaper than clearing, and there is seldom anything to clear.
  static func discarding<Value>(_ body: () -> Value) -> Value {
    _ = Library.isReady
    defer { if ERR_peek_error() != 0 { ERR_clear_error() } }
    return body()
  }

  /// An error with `what` and OpenSSL's first reason, whose text never holds data.
  private static func drained(_ code: CryptoError.Code, _ what: String) -> CryptoError {
    let first = ERR_get_error()
    ERR_clear_error()
    guard first != 0, let reason = ERR_reason_error_string(first) else { return CryptoError(code: code, message: what) }
    return CryptoError(code: code, message: "\(what) (\(String(cString: reason)))")
  }
}

/// The initialization of OpenSSL.
enum Library {
  /// Initializes OpenSSL once, without its exit handler, which would free memory that other threads still use while the
  /// process exits. Must be read before any other call into the library.
  static let isReady: Bool = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}

extension UnsafeRawBufferPointer {
  /// The first byte, as OpenSSL takes it; nil for an empty buffer, which OpenSSL accepts together with length 0.
  var bytes: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
