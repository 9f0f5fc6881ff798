import CPosternOpenSSL

/// OpenSSL's error queue belongs to the thread: cleared before a group of calls, drained right after it, never left for
/// whoever runs on the thread next.
enum ErrorQueue {
  /// Runs `body` between a clean queue and a drained one; nil from `body` becomes an error of `code`.
  static func checked<Value>(
    _ code: CryptoError.Code, _ what: String, _ body: () -> Value?
  ) throws(CryptoError) -> Value {
    _ = Library.isReady
    ERR_clear_error()
    guard let value = body() else { throw drained(code, what) }
    ERR_clear_error()
    return value
  }

  /// Runs `body` and leaves a drained queue, whatever comes of it. What stood in the queue before is nobody's business:
  /// `body` does not ask it. Looking is much cheaper than clearing, and there is seldom anything to clear.
  static func discarding<Value>(_ body: () -> Value) -> Value {
    _ = Library.isReady
    defer { if ERR_peek_error() != 0 { ERR_clear_error() } }
    return body()
  }

  /// The first reason OpenSSL gives, in its own words (which never hold data), behind `what`.
  private static func drained(_ code: CryptoError.Code, _ what: String) -> CryptoError {
    let first = ERR_get_error()
    ERR_clear_error()
    guard first != 0, let reason = ERR_reason_error_string(first) else { return CryptoError(code: code, message: what) }
    return CryptoError(code: code, message: "\(what) (\(String(cString: reason)))")
  }
}
