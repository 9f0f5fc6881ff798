import PosternCrypto
public import PosternSupport

/// A JWE key management algorithm: one row of the table of `alg` values (RFC 7518 section 4), with everything that the
/// code needs to know about it. The rows are in `KeyManagementAlgorithm+Table.swift`.
public struct KeyManagementAlgorithm: Sendable {
  /// How the content encryption key is determined.
  enum Scheme: Sendable, Hashable {
    case rsaOAEP(HashFunction)
    case ecdhES(wrapping: AESKeySize?)
    case aesKeyWrap(AESKeySize)
    case aesGCMKeyWrap(AESKeySize)
    case direct
    case passwordBased(HashFunction, AESKeySize)
  }

  /// The `alg` value.
  public let name: String
  /// The `kty` values that its keys may have.
  public let keyTypes: Set<KeyType>
  /// The smallest key in bits, where the algorithm does not fix the size.
  public let minimumKeyBitCount: Int
  /// The `key_ops` values that permit decrypting; a key with `key_ops` needs one of them.
  let decryptionOperations: [String]
  /// The `key_ops` values that permit encrypting.
  let encryptionOperations: [String]
  let scheme: Scheme

  /// Whether sender and recipient share one secret.
  public var isSymmetric: Bool { keyTypes == [.oct] }
}

extension KeyManagementAlgorithm: Hashable {
  /// Same name.
  public static func == (left: KeyManagementAlgorithm, right: KeyManagementAlgorithm) -> Bool {
    left.name == right.name
  }

  /// Feeds the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension KeyManagementAlgorithm: ConciseStringConvertible {
  /// The `alg` value.
  public var description: String { name }
}

extension KeyManagementAlgorithm {
  /// The error for a `key` that this algorithm cannot be used with together with `encryption`; nil for one it can.
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

  /// The error for a `key` that is too small; nil when it is not.
  func weakness(of key: JWK) -> JOSEError? { key.weakness(below: minimumKeyBitCount, for: name) }

  /// The length of a symmetric key where the algorithm, or for `dir` the content encryption, fixes it.
  func sharedKeyByteCount(_ encryption: ContentEncryption) -> Int? {
    switch scheme {
    case .aesKeyWrap(let size), .aesGCMKeyWrap(let size): size.byteCount
    case .direct: encryption.keyByteCount
    case .rsaOAEP, .ecdhES, .passwordBased: nil
    }
  }

  /// Whether `name` is that of the content encryption: a JWK for `dir` has this as its `alg` (RFC 7517 appendix A.3,
  /// RFC 7520 section 5.6).
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
  /// The one key for decrypting a token with `header` by `algorithm` and `encryption`; errors as for verification.
  public func decryptionKey(
    for header: JOSEHeader, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption
  ) throws(JOSEError) -> JWK {
    try select(keyID: header.keyID, operations: algorithm.decryptionOperations, purpose: .encryption) {
      algorithm.mismatch(with: $0, encryption: encryption)
    }
  }

  /// The one key for encrypting with `algorithm`: the one with `keyID`, or the only matching one without `keyID`.
  public func encryptionKey(
    keyID: String? = nil, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption
  ) throws(JOSEError) -> JWK {
    try select(keyID: keyID, operations: algorithm.encryptionOperations, purpose: .encryption) {
      algorithm.mismatch(with: $0, encryption: encryption)
    }
  }
}
