import PosternCrypto

extension ContentEncryption {
  /// Encrypts `plaintext` under `key` with a fresh initialization vector.
  func seal(
    _ plaintext: RawSpan, key: SymmetricKey, authenticating data: RawSpan
  ) throws(CryptoError) -> (iv: [UInt8], message: SealedMessage) {
    let iv = SecureRandom.bytes(ivByteCount)
    switch scheme {
    case .gcm: return (iv, try AESGCM.seal(plaintext, key: key, nonce: iv, authenticating: data))
    case .cbcHMAC(let cipher): return (iv, try cipher.seal(plaintext, key: key, iv: iv, authenticating: data))
    }
  }

  /// The plaintext of `message`; nil whatever is wrong, lengths of the vector and of the tag included: they are fixed
  /// by the algorithm, never taken from the token (CVE-2023-37464).
  func open(_ message: SealedMessage, key: SymmetricKey, iv: [UInt8], authenticating data: RawSpan) -> [UInt8]? {
    guard iv.count == ivByteCount, message.tag.count == tagByteCount else { return nil }
    switch scheme {
    case .gcm: return try? AESGCM.open(message, key: key, nonce: iv, authenticating: data)
    case .cbcHMAC(let cipher): return try? cipher.open(message, key: key, iv: iv, authenticating: data)
    }
  }
}
