import CPosternOpenSSL

/// OpenSSL's AES ciphers: a context for one message, and feeding bytes to it.
enum AESCipher {
  enum Mode: Sendable {
    case gcm
    case cbc
    case keyWrap
  }

  /// Runs `body` with a new context for `mode`; `body` sets key and IV. OpenSSL's error queue is empty afterwards.
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

  /// Feeds `input` and writes the result to `output`, which must be large enough; returns the count of bytes written.
  static func update(
    _ context: OpaquePointer, _ input: UnsafeRawBufferPointer, into output: UnsafeMutablePointer<UInt8>?
  ) -> Int? {
    // In some modes OpenSSL takes a null input as the end of the message.
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

  // nonisolated(unsafe): an EVP_CIPHER is immutable once fetched, and these are never freed.
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

/// The three sizes of AES keys.
public enum AESKeySize: Sendable, Hashable, CaseIterable {
  /// 128 bits.
  case bits128
  /// 192 bits.
  case bits192
  /// 256 bits.
  case bits256

  /// The length of a key in bytes.
  public var byteCount: Int {
    switch self {
    case .bits128: 16
    case .bits192: 24
    case .bits256: 32
    }
  }

  /// The size of `key`; throws `invalidKey` when it is not a size of AES keys.
  init(of key: SymmetricKey) throws(CryptoError) {
    guard let size = Self.allCases.first(where: { $0.byteCount == key.byteCount }) else {
      throw CryptoError(code: .invalidKey, message: "AES key of the wrong length")
    }
    self = size
  }
}

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

  /// The key in `wrapped`; `authenticationFailed` when it was not wrapped under `wrappingKey`, or is too short.
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
