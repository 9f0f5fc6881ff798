import CPosternOpenSSL
public import PosternSupport

/// AES in Galois/Counter Mode (SP 800-38D) with a nonce of 96 bits and a tag of 128 bits, no other lengths.
public enum AESGCM {
  /// The length of a nonce in bytes.
  public static let nonceByteCount = 12
  /// The length of a tag in bytes.
  public static let tagByteCount = 16

  /// Encrypts `plaintext` and authenticates it together with `data`. A nonce must never be used twice under one key.
  public static func seal(
    _ plaintext: RawSpan, key: SymmetricKey, nonce: [UInt8], authenticating data: RawSpan
  ) throws(CryptoError) -> SealedMessage {
    try check(nonce: nonce)
    let sealed = try AESCipher.withContext(.gcm, key: key) { context, cipher in
      guard start(context, cipher, key, nonce, encrypting: true),
        let ciphertext = run(context, plaintext, authenticating: data)
      else { return SealedMessage?.none }
      var tag = [UInt8](repeating: 0, count: tagByteCount)
      var rest: Int32 = 0
      guard EVP_CipherFinal_ex(context, &tag, &rest) == 1,
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagByteCount), &tag) == 1
      else { return nil }
      return SealedMessage(ciphertext: ciphertext, tag: tag)
    }
    guard let sealed else { throw CryptoError(code: .operationFailed, message: "AES-GCM") }
    return sealed
  }

  /// The plaintext of `message`; `authenticationFailed` unless the tag is right, and of 128 bits (a shorter one is
  /// easier to guess: CVE-2023-37464).
  public static func open(
    _ message: SealedMessage, key: SymmetricKey, nonce: [UInt8], authenticating data: RawSpan
  ) throws(CryptoError) -> [UInt8] {
    guard message.tag.count == tagByteCount, nonce.count == nonceByteCount else {
      throw CryptoError(code: .authenticationFailed, message: "AES-GCM")
    }
    let plaintext = try AESCipher.withContext(.gcm, key: key) { context, cipher -> [UInt8]? in
      var tag = message.tag
      guard start(context, cipher, key, nonce, encrypting: false),
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagByteCount), &tag) == 1,
        let plaintext = run(context, message.ciphertext.span.bytes, authenticating: data)
      else { return nil }
      var rest: Int32 = 0
      guard EVP_CipherFinal_ex(context, &tag, &rest) == 1 else { return nil }
      return plaintext
    }
    guard let plaintext else { throw CryptoError(code: .authenticationFailed, message: "AES-GCM") }
    return plaintext
  }

  private static func check(nonce: [UInt8]) throws(CryptoError) {
    guard nonce.count == nonceByteCount else {
      throw CryptoError(code: .invalidInput, message: "AES-GCM nonce of the wrong length")
    }
  }

  private static func start(
    _ context: OpaquePointer, _ cipher: OpaquePointer, _ key: SymmetricKey, _ nonce: [UInt8], encrypting: Bool
  ) -> Bool {
    key.withUnsafeBytes { EVP_CipherInit_ex2(context, cipher, $0.bytes, nonce, encrypting ? 1 : 0, nil) } == 1
  }

  private static func run(
    _ context: OpaquePointer, _ input: RawSpan, authenticating data: RawSpan
  ) -> [UInt8]? {
    guard data.withUnsafeBytes({ AESCipher.update(context, $0, into: nil) }) != nil else { return nil }
    // An array without capacity is the shared empty one, to whose count its initializer writes: a (harmless) data race.
    guard input.byteCount > 0 else { return [] }
    var succeeded = false
    let output = [UInt8](unsafeUninitializedCapacity: input.byteCount) { buffer, count in
      let written = input.withUnsafeBytes { AESCipher.update(context, $0, into: buffer.baseAddress) }
      succeeded = written == input.byteCount
      count = succeeded ? input.byteCount : 0
    }
    return succeeded ? output : nil
  }
}

/// The result of authenticated encryption: ciphertext and tag.
public struct SealedMessage: Sendable {
  /// The ciphertext.
  public var ciphertext: [UInt8]
  /// The authentication tag.
  public var tag: [UInt8]

  /// The given parts.
  public init(ciphertext: [UInt8], tag: [UInt8]) {
    self.ciphertext = ciphertext
    self.tag = tag
  }
}

extension SealedMessage: ConciseStringConvertible {
  /// The size.
  public var description: String { "\(Concise.count(ciphertext.count, "encrypted byte"))" }
}
