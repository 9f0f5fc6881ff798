import PosternCrypto
import PosternJSON
import PosternSupport

extension KeyManagementAlgorithm {
  /// What a sender makes for a token: the content encryption key, its encrypted form, and the parameters the recipient
  /// needs.
  struct WrappedKey {
    let contentKey: SymmetricKey
    let encryptedKey: [UInt8]
    let parameters: [(String, JSONValue)]
  }

  /// A fresh content encryption key for the holder of `key`; nil when `key` is of another kind.
  func makeContentKey(
    for key: KeyMaterial, parameters: JSONObject, encryption: ContentEncryption
  ) throws(CryptoError) -> WrappedKey? {
    let fresh = SymmetricKey.random(byteCount: encryption.keyByteCount)
    switch (scheme, key.publicMaterial ?? key) {
    case (.rsaOAEP(let hash), .rsaPublic(let key)):
      return WrappedKey(contentKey: fresh, encryptedKey: try key.encrypt(fresh, oaep: hash), parameters: [])
    case (.ecdhES(let wrapping), let recipient):
      return try agreed(with: recipient, wrapping, fresh, parameters: parameters, encryption: encryption)
    case (.aesKeyWrap, .symmetric(let key)):
      return WrappedKey(contentKey: fresh, encryptedKey: try AESKeyWrap.wrap(fresh, with: key), parameters: [])
    case (.aesGCMKeyWrap, .symmetric(let key)):
      let nonce = SecureRandom.bytes(AESGCM.nonceByteCount)
      let plain = fresh.reveal()
      let nothing: [UInt8] = []
      let sealed = try AESGCM.seal(plain.span.bytes, key: key, nonce: nonce, authenticating: nothing.span.bytes)
      return WrappedKey(
        contentKey: fresh, encryptedKey: sealed.ciphertext,
        parameters: [("iv", .base64URL(nonce)), ("tag", .base64URL(sealed.tag))])
    case (.direct, .symmetric(let key)):
      return WrappedKey(contentKey: key, encryptedKey: [], parameters: [])
    case (.passwordBased(let hash, let size), .symmetric(let password)):
      let salt = SecureRandom.bytes(PasswordBasedEncryption.saltByteCount)
      let iterations = PasswordBasedEncryption.maximumIterations
      guard let key = passwordKey(password, salt: salt, iterations: iterations, hash, size) else { return nil }
      return WrappedKey(
        contentKey: fresh, encryptedKey: try AESKeyWrap.wrap(fresh, with: key),
        parameters: [("p2s", .base64URL(salt)), ("p2c", .integer(Int64(iterations)))])
    default:
      return nil
    }
  }

  private func agreed(
    with recipient: KeyMaterial, _ wrapping: AESKeySize?, _ fresh: SymmetricKey, parameters: JSONObject,
    encryption: ContentEncryption
  ) throws(CryptoError) -> WrappedKey? {
    guard let ephemeral = try KeyAgreement.makeEphemeralKey(for: recipient),
      let secret = KeyAgreement.secret(ephemeral, recipient),
      let agreed = KeyAgreement.derive(
        secret, algorithmID: wrapping == nil ? encryption.name : name, parameters: parameters,
        byteCount: wrapping?.byteCount ?? encryption.keyByteCount)
    else { return nil }
    let members = ephemeral.requiredMembers(revealingSymmetric: false)
    return WrappedKey(
      contentKey: wrapping == nil ? agreed : fresh,
      encryptedKey: wrapping == nil ? [] : try AESKeyWrap.wrap(fresh, with: agreed),
      parameters: [("epk", .object(JSONObject(members)))])
  }
}
