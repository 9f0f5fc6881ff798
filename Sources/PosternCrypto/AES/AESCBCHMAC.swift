import CPosternOpenSSL
public import PosternSupport

/// Authenticated encryption with AES-CBC and HMAC (RFC 7518 section 5.2): encrypt, then authenticate.
public struct AESCBCHMAC: Sendable, Hashable {
  /// AES-128 and SHA-256.
  public static let sha256 = AESCBCHMAC(hash: .sha256)
  /// AES-192 and SHA-384.
  public static let sha384 = AESCBCHMAC(hash: .sha384)
  /// AES-256 and SHA-512.
  public static let sha512 = AESCBCHMAC(hash: .sha512)

  /// The length of an initialization vector in bytes.
  public static let ivByteCount = AESCBC.blockByteCount

  private let hash: HashFunction

  /// The length of the key in bytes: one half authenticates, the other encrypts.
  public var keyByteCount: Int { hash.byteCount }

  /// The length of a tag in bytes.
  public var tagByteCount: Int { hash.byteCount / 2 }

  /// Encrypts `plaintext` and authenticates it together with `data`.
  public func seal(
    _ plaintext: RawSpan, key: SymmetricKey, iv: [UInt8], authenticating data: RawSpan
  ) throws(CryptoError) -> SealedMessage {
    let keys = try split(key)
    guard let ciphertext = try AESCBC.encrypt(plaintext, key: keys.encryption, iv: iv) else {
      throw CryptoError(code: .invalidInput, message: "AES-CBC")
    }
    let tag = try tag(of: ciphertext, key: keys.authentication, iv: iv, authenticating: data)
    return SealedMessage(ciphertext: ciphertext, tag: tag)
  }

  /// The plaintext of `message`; `authenticationFailed` unless the tag is right. The tag is checked before anything is
  /// decrypted.
  public func open(
    _ message: SealedMessage, key: SymmetricKey, iv: [UInt8], authenticating data: RawSpan
  ) throws(CryptoError) -> [UInt8] {
    let keys = try split(key)
    let expected = try tag(of: message.ciphertext, key: keys.authentication, iv: iv, authenticating: data)
    guard ConstantTime.equals(expected, message.tag),
      let plaintext = try AESCBC.decrypt(message.ciphertext.span.bytes, key: keys.encryption, iv: iv)
    else { throw CryptoError(code: .authenticationFailed, message: "AES-CBC with HMAC") }
    return plaintext
  }

  private func split(
    _ key: SymmetricKey
  ) throws(CryptoError) -> (authentication: SymmetricKey, encryption: SymmetricKey) {
    guard key.byteCount == keyByteCount else {
      throw CryptoError(code: .invalidKey, message: "AES-CBC with HMAC: key of the wrong length")
    }
    let half = keyByteCount / 2
    return (key.slice(0..<half), key.slice(half..<keyByteCount))
  }

  private func tag(
    of ciphertext: [UInt8], key: SymmetricKey, iv: [UInt8], authenticating data: RawSpan
  ) throws(CryptoError) -> [UInt8] {
    let bits = UInt64(data.byteCount) * 8
    let length = (0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64(56 - 8 * $0)) }
    var code = try HMAC(hash, key: key)
    code.update(data)
    code.update(iv.span.bytes)
    code.update(ciphertext.span.bytes)
    code.update(length.span.bytes)
    return Array(code.finalize()[..<tagByteCount])
  }
}

/// AES in cipher block chaining mode with PKCS #7 padding. Not authenticated, hence not public: `AESCBCHMAC` is.
enum AESCBC {
  static let blockByteCount = 16

  static func encrypt(_ plaintext: RawSpan, key: SymmetricKey, iv: [UInt8]) throws(CryptoError) -> [UInt8]? {
    try run(plaintext, key: key, iv: iv, encrypting: true)
  }

  static func decrypt(_ ciphertext: RawSpan, key: SymmetricKey, iv: [UInt8]) throws(CryptoError) -> [UInt8]? {
    try run(ciphertext, key: key, iv: iv, encrypting: false)
  }

  private static func run(
    _ input: RawSpan, key: SymmetricKey, iv: [UInt8], encrypting: Bool
  ) throws(CryptoError) -> [UInt8]? {
    guard iv.count == blockByteCount else { return nil }
    return try AESCipher.withContext(.cbc, key: key) { context, cipher in
      let started = key.withUnsafeBytes {
        EVP_CipherInit_ex2(context, cipher, $0.bytes, iv, encrypting ? 1 : 0, nil)
      }
      guard started == 1 else { return nil }
      var succeeded = false
      let output = [UInt8](unsafeUninitializedCapacity: input.byteCount + blockByteCount) { buffer, count in
        count = 0
        guard let start = buffer.baseAddress,
          let written = input.withUnsafeBytes({ AESCipher.update(context, $0, into: start) })
        else { return }
        var rest: Int32 = 0
        succeeded = EVP_CipherFinal_ex(context, start + written, &rest) == 1
        count = succeeded ? written + Int(rest) : 0
      }
      return succeeded ? output : nil
    }
  }
}

extension AESCBCHMAC: ConciseStringConvertible {
  /// The hash function.
  public var description: String { "AES-CBC with HMAC-\(hash)" }
}
