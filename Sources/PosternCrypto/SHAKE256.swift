import CPosternOpenSSL

/// SHAKE256 (FIPS 202), a hash function whose output length is the caller's choice.
public enum SHAKE256 {
  /// `count` bytes, at least one, of output for `message`.
  public static func hash(_ message: RawSpan, byteCount count: Int) -> [UInt8] {
    precondition(count > 0, "no output asked for")
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      let succeeded = ErrorQueue.discarding {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return message.withUnsafeBytes { message in
          EVP_DigestInit_ex(context, EVP_shake256(), nil) == 1
            && EVP_DigestUpdate(context, message.baseAddress, message.count) == 1
            && EVP_DigestFinalXOF(context, buffer.baseAddress, count) == 1
        }
      }
      precondition(succeeded, "OpenSSL cannot hash")
      used = count
    }
  }
}
