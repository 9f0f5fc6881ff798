import PosternCrypto

extension SignatureAlgorithm {
  /// Whether `signature` is one of `key` over `message`. False for a key of another kind, whatever the caller has
  /// checked.
  func verify(_ signature: [UInt8], of message: RawSpan, with key: KeyMaterial) -> Bool {
    switch (scheme, key.publicMaterial ?? key) {
    case (.rsa(let scheme), .rsaPublic(let key)):
      key.isValidSignature(signature, for: message, scheme: scheme)
    case (.ecdsa(let curve, let hash), .ecPublic(let key)) where key.curve == curve:
      key.isValidSignature(signature, for: message, hash: hash)
    case (.edwards(let curves), .edwardsPublic(let key)) where curves.contains(key.curve):
      key.isValidSignature(signature, for: message)
    case (.hmac(let hash), .symmetric(let key)):
      (try? HMAC.authenticate(message, using: hash, key: key)).map { ConstantTime.equals($0, signature) } ?? false
    default: false
    }
  }

  /// The signature of `message` by `key`.
  func sign(_ message: RawSpan, with key: KeyMaterial) throws(JOSEError) -> [UInt8] {
    do throws(CryptoError) {
      switch (scheme, key) {
      case (.rsa(let scheme), .rsaPrivate(let key)):
        return try key.signature(for: message, scheme: scheme)
      case (.ecdsa(let curve, let hash), .ecPrivate(let key)) where key.publicKey.curve == curve:
        return try key.signature(for: message, hash: hash)
      case (.edwards(let curves), .edwardsPrivate(let key)) where curves.contains(key.publicKey.curve):
        return try key.signature(for: message)
      case (.hmac(let hash), .symmetric(let key)):
        return try HMAC.authenticate(message, using: hash, key: key)
      default: break
      }
    } catch {
      throw JOSEError(.operationFailed, error.message)
    }
    throw JOSEError(.invalidKey, "\(name) cannot sign with this key: it is public or of another kind")
  }
}
