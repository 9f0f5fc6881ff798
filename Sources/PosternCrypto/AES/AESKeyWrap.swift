import CPosternOpenSSL

/// The AES key wrap algorithm with its default initial value (RFC 3394).
public enum AESKeyWrap {
  private static let overhead = 8
  private static let minimumKeyByteCount = 16

  /// `key` wrapped under `wrappingKey`: 8 bytes longer. Keys are multiples of 8 bytes, at least 16.
  public static func wrap(_ key: SymmetricKey, with wrappingKey: SymmetricKey) throws(CryptoError) -> [UInt8] {
    guard key.byteCount >= minimumKeyByteCount, key.byteCount.isMultiple(of: 8) else {
      throw CryptoError(code: .invalidInput, message: "key of a length that cannot be wrapped")
    }
    let wrapped = try run(key, with: wrappingKey, wrapping: true) { Array($0) }
    guard let wrapped else { throw CryptoError(code: .operationFailed, message: "AES key wrap") }
    return wrapped
  }

  /// The key in `wrapped`; `authenticationFailed` when it was not wrapped under `wrappingKey`, too short ones included.
  public static func unwrap(_ wrapped: [UInt8], with wrappingKey: SymmetricKey) throws(CryptoError) -> SymmetricKey {
    let fault = CryptoError(code: .authenticationFailed, message: "AES key unwrap")
    guard wrapped.count >= minimumKeyByteCount + overhead, wrapped.count.isMultiple(of: 8) else { throw fault }
    let key = try run(SymmetricKey(wrapped), with: wrappingKey, wrapping: false) { SymmetricKey(copying: $0) }
    guard let key else { throw fault }
    return key
  }

  private static func run<Value>(
    _ input: SymmetricKey, with key: SymmetricKey, wrapping: Bool,
    _ read: (UnsafeMutableBufferPointer<UInt8>.SubSequence) -> Value
  ) throws(CryptoError) -> Value? {
    try AESCipher.withContext(.keyWrap, key: key) { context, cipher in
      let started = key.withUnsafeBytes { EVP_CipherInit_ex2(context, cipher, $0.bytes, nil, wrapping ? 1 : 0, nil) }
      guard started == 1 else { return nil }
      return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: input.byteCount + overhead) { buffer in
        defer { OPENSSL_cleanse(buffer.baseAddress, buffer.count) }
        let written = input.withUnsafeBytes { AESCipher.update(context, $0, into: buffer.baseAddress) }
        let expected = wrapping ? input.byteCount + overhead : input.byteCount - overhead
        guard written == expected else { return nil }
        return read(buffer[..<expected])
      }
    }
  }
}
