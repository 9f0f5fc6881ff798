import PosternCrypto

/// One row of the table of JWE key management algorithms: everything the code needs to know about an `alg` value (RFC
/// 7518 section 4).
///
/// Nothing below this type looks at the name. The rows are in `KeyManagementAlgorithm+Table.swift`.
public struct KeyManagementAlgorithm: Sendable {
  /// How the content encryption key is found.
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
  /// The `kty`s its keys may have.
  public let keyTypes: Set<KeyType>
  /// The smallest key in bits, where the algorithm does not fix the size.
  public let minimumKeyBitCount: Int
  /// The values of `key_ops` of which a key with that member needs one for decrypting.
  let decryptionOperations: [String]
  /// The same for encrypting.
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

extension KeyManagementAlgorithm: CustomStringConvertible {
  /// The `alg` value.
  public var description: String { name }
}
