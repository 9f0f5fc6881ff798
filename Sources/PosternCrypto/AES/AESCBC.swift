import CPosternOpenSSL

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
