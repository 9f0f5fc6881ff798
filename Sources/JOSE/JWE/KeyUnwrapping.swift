import PosternCrypto
import PosternJSON
import PosternSupport

extension KeyManagementAlgorithm {
  /// The content encryption key of a received token; nil when it cannot be found, for whatever reason. The caller goes
  /// on with a random key then, so that nobody can tell from the outcome or the time where it failed (RFC 7516 section
  /// 11.5).
  func contentKey(
    from encryptedKey: [UInt8], with key: KeyMaterial, parameters: JSONObject, encryption: ContentEncryption
  ) -> SymmetricKey? {
    let contentKey = unwrapped(encryptedKey, with: key, parameters: parameters, encryption: encryption)
    return contentKey?.byteCount == encryption.keyByteCount ? contentKey : nil
  }

  private func unwrapped(
    _ encryptedKey: [UInt8], with key: KeyMaterial, parameters: JSONObject, encryption: ContentEncryption
  ) -> SymmetricKey? {
    switch (scheme, key) {
    case (.rsaOAEP(let hash), .rsaPrivate(let key)):
      return try? key.decrypt(encryptedKey, oaep: hash)
    case (.ecdhES(let wrapping), _):
      guard let peer = KeyAgreement.ephemeralKey(parameters), let secret = KeyAgreement.secret(key, peer) else {
        return nil
      }
      let agreed = KeyAgreement.derive(
        secret, algorithmID: wrapping == nil ? encryption.name : name, parameters: parameters,
        byteCount: wrapping?.byteCount ?? encryption.keyByteCount)
      guard let agreed else { return nil }
      if wrapping == nil { return encryptedKey.isEmpty ? agreed : nil }
      return try? AESKeyWrap.unwrap(encryptedKey, with: agreed)
    case (.aesKeyWrap, .symmetric(let key)):
      return try? AESKeyWrap.unwrap(encryptedKey, with: key)
    case (.aesGCMKeyWrap, .symmetric(let key)):
      guard let iv = Self.bytes("iv", parameters), let tag = Self.bytes("tag", parameters) else { return nil }
      let sealed = SealedMessage(ciphertext: encryptedKey, tag: tag)
      let nothing: [UInt8] = []
      return (try? AESGCM.open(sealed, key: key, nonce: iv, authenticating: nothing.span.bytes)).map {
        SymmetricKey($0)
      }
    case (.direct, .symmetric(let key)):
      return encryptedKey.isEmpty ? key : nil
    case (.passwordBased(let hash, let size), .symmetric(let password)):
      guard let salt = Self.bytes("p2s", parameters), let iterations = parameters["p2c"]?.integerValue else {
        return nil
      }
      return passwordKey(password, salt: salt, iterations: Int(clamping: iterations), hash, size)
        .flatMap { try? AESKeyWrap.unwrap(encryptedKey, with: $0) }
    default:
      return nil
    }
  }

  /// The key that a password yields; nil outside the bounds. The salt is bound to the algorithm's name (RFC 7518
  /// section 4.8.1.1).
  func passwordKey(
    _ password: SymmetricKey, salt: [UInt8], iterations: Int, _ hash: HashFunction, _ size: AESKeySize
  ) -> SymmetricKey? {
    typealias Bounds = PasswordBasedEncryption
    guard (Bounds.minimumIterations...Bounds.maximumIterations).contains(iterations),
      (Bounds.minimumSaltByteCount...Bounds.maximumSaltByteCount).contains(salt.count)
    else { return nil }
    return try? PBKDF2.derive(
      from: password, salt: Array(name.utf8) + [0] + salt, iterations: iterations, hash: hash, byteCount: size.byteCount
    )
  }

  private static func bytes(_ name: String, _ parameters: JSONObject) -> [UInt8]? {
    parameters[name]?.stringValue.flatMap { Base64URL.decode($0) }
  }
}
