import CPosternOpenSSL

/// HKDF with SHA-256 (RFC 5869): derives several keys from one.
public enum HKDF {
  /// The pseudorandom key of `secret` (section 2.2), the input of `expand`. `salt` need not be secret; it must not be
  /// empty.
  public static func extract(from secret: SymmetricKey, salt: [UInt8]) throws(CryptoError) -> SymmetricKey {
    var code = try HMAC(.sha256, key: SymmetricKey(salt))
    secret.withUnsafeBytes { code.update(RawSpan(_unsafeBytes: $0)) }
    return SymmetricKey(code.finalize())
  }

  /// A key of 32 bytes for the use that `info` names (section 2.3, one round).
  public static func expand(_ pseudorandomKey: SymmetricKey, info: [UInt8]) throws(CryptoError) -> SymmetricKey {
    SymmetricKey(try HMAC.authenticate((info + [1]).span.bytes, using: .sha256, key: pseudorandomKey))
  }
}

/// PBKDF2 with HMAC (RFC 8018 section 5.2).
public enum PBKDF2 {
  /// `byteCount` bytes derived from `password`. The time is proportional to `iterations`: the caller must bound a
  /// number that comes from outside.
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

/// The concatenation key derivation function with SHA-256 (SP 800-56A section 5.8.1), as RFC 7518 section 4.6.2 uses
/// it.
public enum ConcatKDF {
  /// `byteCount` bytes derived from `secret`, bound to `info` (the `OtherInfo`).
  public static func derive(from secret: SymmetricKey, info: [UInt8], byteCount: Int) -> SymmetricKey {
    let inputByteCount = 4 + secret.byteCount + info.count
    return withUnsafeTemporaryAllocation(byteCount: inputByteCount, alignment: 1) { input in
      defer { OPENSSL_cleanse(input.baseAddress, input.count) }
      secret.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: input[4...]).copyMemory(from: $0) }
      UnsafeMutableRawBufferPointer(rebasing: input[(4 + secret.byteCount)...]).copyBytes(from: info)
      var output: [UInt8] = []
      var counter: UInt32 = 1
      while output.count < byteCount {
        input.storeBytes(of: counter.bigEndian, as: UInt32.self)
        output += HashFunction.sha256.hash(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(input)))
        counter += 1
      }
      defer { output.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
      return SymmetricKey(copying: output.span.bytes.extracting(0..<byteCount))
    }
  }
}
