import PosternCrypto
import PosternSupport

extension KeyManagementAlgorithm {
  /// Why `key` does not belong to this algorithm with `encryption`; nil when it does.
  func mismatch(with key: JWK, encryption: ContentEncryption) -> JOSEError? {
    guard keyTypes.contains(key.keyType), accepts(key.material.curve) else {
      return JOSEError(.keyAlgMismatch, "\(name) needs a key of another type or curve")
    }
    guard key.algorithm.map({ $0.hasSameBytes(as: name) || isEncryption($0, encryption) }) ?? true else {
      return JOSEError(.keyAlgMismatch, "the key is for another algorithm than \(name)")
    }
    if let count = sharedKeyByteCount(encryption), key.material.bitCount != count * 8 {
      return JOSEError(.keyAlgMismatch, "\(name) needs a key of \(count * 8) bits here")
    }
    return nil
  }

  /// Why `key` is too small; nil when it is not.
  func weakness(of key: JWK) -> JOSEError? {
    let bits = key.material.bitCount
    guard bits < minimumKeyBitCount else { return nil }
    return JOSEError(.weakKey, "\(name) needs a key of at least \(minimumKeyBitCount) bits, this one has \(bits)")
  }

  /// The length of a symmetric key where the algorithm, or for `dir` the content encryption, fixes it.
  func sharedKeyByteCount(_ encryption: ContentEncryption) -> Int? {
    switch scheme {
    case .aesKeyWrap(let size), .aesGCMKeyWrap(let size): size.byteCount
    case .direct: encryption.keyByteCount
    case .rsaOAEP, .ecdhES, .passwordBased: nil
    }
  }

  /// With `dir` a JWK's `alg` names the content encryption, since that is what the key does (RFC 7517 appendix A.3 and
  /// RFC 7520 section 5.6 write it so).
  private func isEncryption(_ name: String, _ encryption: ContentEncryption) -> Bool {
    scheme == .direct && name.hasSameBytes(as: encryption.name)
  }

  private func accepts(_ curve: KeyCurve?) -> Bool {
    switch (scheme, curve) {
    case (.ecdhES, .weierstrass(let curve)?): curve != .secp256k1
    case (.ecdhES, .montgomery?): true
    case (.ecdhES, _): false
    default: curve == nil
    }
  }
}

extension JWKSet {
  /// The one key that may decrypt a token with `header` under `algorithm` and `encryption`; errors as for verification.
  public func decryptionKey(
    for header: JOSEHeader, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption
  ) throws(JOSEError) -> JWK {
    try select(keyID: header.keyID, operations: algorithm.decryptionOperations, purpose: .encryption) {
      algorithm.mismatch(with: $0, encryption: encryption)
    }
  }

  /// The one key to encrypt to with `algorithm`: the one with `keyID`, or without it the only one that fits.
  public func encryptionKey(
    keyID: String? = nil, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption
  ) throws(JOSEError) -> JWK {
    try select(keyID: keyID, operations: algorithm.encryptionOperations, purpose: .encryption) {
      algorithm.mismatch(with: $0, encryption: encryption)
    }
  }
}
