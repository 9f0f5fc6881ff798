import CPosternOpenSSL

/// PBKDF2 with HMAC (RFC 8018 section 5.2).
public enum PBKDF2 {
  /// `byteCount` bytes derived from `password`. The time is proportional to `iterations`: bound what comes from
  /// outside.
  public static func derive(
    from password: SymmetricKey, salt: [UInt8], iterations: Int, hash: HashFunction, byteCount: Int
  ) throws(CryptoError) -> SymmetricKey {
    guard let rounds = Int32(exactly: iterations), rounds > 0, let saltCount = Int32(exactly: salt.count),
      let passwordCount = Int32(exactly: password.byteCount), (1...64).contains(byteCount)
    else { throw CryptoError(code: .invalidInput, message: "PBKDF2 parameter out of range") }
    return try ErrorQueue.checked(.operationFailed, "PBKDF2") {
      password.withUnsafeBytes { password in
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { output in
          defer { OPENSSL_cleanse(output.baseAddress, output.count) }
          let characters = password.baseAddress?.assumingMemoryBound(to: CChar.self)
          let status = PKCS5_PBKDF2_HMAC(
            characters, passwordCount, salt, saltCount, rounds, hash.pointer, Int32(byteCount), output.baseAddress)
          return status == 1 ? SymmetricKey(copying: output[...]) : nil
        }
      }
    }
  }
}
