import PosternCrypto
import PosternSupport

extension KeyManagementAlgorithm {
  /// RSAES-OAEP with SHA-1, the default of RFC 8017; OAEP does not depend on collision resistance.
  public static let rsaOAEP = oaep("RSA-OAEP", .insecureSHA1)
  /// RSAES-OAEP with SHA-256.
  public static let rsaOAEP256 = oaep("RSA-OAEP-256", .sha256)
  /// RSAES-OAEP with SHA-384.
  public static let rsaOAEP384 = oaep("RSA-OAEP-384", .sha384)
  /// RSAES-OAEP with SHA-512.
  public static let rsaOAEP512 = oaep("RSA-OAEP-512", .sha512)
  /// Diffie-Hellman with an ephemeral key; the agreed key encrypts the content.
  public static let ecdhES = ecdh("ECDH-ES", nil)
  /// Diffie-Hellman with an ephemeral key; the agreed key wraps the content's with AES-128.
  public static let ecdhESA128KW = ecdh("ECDH-ES+A128KW", .bits128)
  /// Diffie-Hellman with an ephemeral key; the agreed key wraps the content's with AES-192.
  public static let ecdhESA192KW = ecdh("ECDH-ES+A192KW", .bits192)
  /// Diffie-Hellman with an ephemeral key; the agreed key wraps the content's with AES-256.
  public static let ecdhESA256KW = ecdh("ECDH-ES+A256KW", .bits256)
  /// AES key wrap with a 128-bit key.
  public static let a128KW = wrap("A128KW", .aesKeyWrap(.bits128))
  /// AES key wrap with a 192-bit key.
  public static let a192KW = wrap("A192KW", .aesKeyWrap(.bits192))
  /// AES key wrap with a 256-bit key.
  public static let a256KW = wrap("A256KW", .aesKeyWrap(.bits256))
  /// AES-GCM key wrap with a 128-bit key.
  public static let a128GCMKW = wrap("A128GCMKW", .aesGCMKeyWrap(.bits128))
  /// AES-GCM key wrap with a 192-bit key.
  public static let a192GCMKW = wrap("A192GCMKW", .aesGCMKeyWrap(.bits192))
  /// AES-GCM key wrap with a 256-bit key.
  public static let a256GCMKW = wrap("A256GCMKW", .aesGCMKeyWrap(.bits256))
  /// The shared key itself encrypts the content.
  public static let direct = KeyManagementAlgorithm(
    name: "dir", keyTypes: [.oct], minimumKeyBitCount: 128, decryptionOperations: ["decrypt"],
    encryptionOperations: ["encrypt"], scheme: .direct)
  /// A password, PBKDF2 with SHA-256, then AES-128 key wrap. The sender chooses how many iterations that takes, within
  /// `PasswordBasedEncryption`.
  public static let insecurePBES2HS256A128KW = password("PBES2-HS256+A128KW", .sha256, .bits128)
  /// A password, PBKDF2 with SHA-384, then AES-192 key wrap.
  public static let insecurePBES2HS384A192KW = password("PBES2-HS384+A192KW", .sha384, .bits192)
  /// A password, PBKDF2 with SHA-512, then AES-256 key wrap.
  public static let insecurePBES2HS512A256KW = password("PBES2-HS512+A256KW", .sha512, .bits256)

  /// The algorithms that encrypt with a public key: the default allow-list.
  public static let asymmetric = [
    rsaOAEP, rsaOAEP256, rsaOAEP384, rsaOAEP512, ecdhES, ecdhESA128KW, ecdhESA192KW, ecdhESA256KW,
  ]

  /// The algorithms with a shared key; allowed only where the configuration lists them.
  public static let symmetric = [a128KW, a192KW, a256KW, a128GCMKW, a192GCMKW, a256GCMKW, direct]

  /// The algorithms with a password; allowed only where the configuration lists them.
  public static let insecurePasswordBased = [
    insecurePBES2HS256A128KW, insecurePBES2HS384A192KW, insecurePBES2HS512A256KW,
  ]

  private static let table = asymmetric + symmetric + insecurePasswordBased

  /// The row of `name`, compared byte by byte; nil for a name that is not in the table. `RSA1_5` is not in it, because
  /// its padding makes the recipient a decryption oracle (RFC 8725 section 3.2).
  public init?(name: String) {
    guard let row = Self.table.first(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
    self = row
  }

  private static func oaep(_ name: String, _ hash: HashFunction) -> KeyManagementAlgorithm {
    KeyManagementAlgorithm(
      name: name, keyTypes: [.rsa], minimumKeyBitCount: 2048, decryptionOperations: ["unwrapKey", "decrypt"],
      encryptionOperations: ["wrapKey", "encrypt"], scheme: .rsaOAEP(hash))
  }

  private static func ecdh(_ name: String, _ wrapping: AESKeySize?) -> KeyManagementAlgorithm {
    KeyManagementAlgorithm(
      name: name, keyTypes: [.ec, .okp], minimumKeyBitCount: 255, decryptionOperations: ["deriveKey", "deriveBits"],
      encryptionOperations: ["deriveKey", "deriveBits"], scheme: .ecdhES(wrapping: wrapping))
  }

  private static func wrap(_ name: String, _ scheme: Scheme) -> KeyManagementAlgorithm {
    KeyManagementAlgorithm(
      name: name, keyTypes: [.oct], minimumKeyBitCount: 128, decryptionOperations: ["unwrapKey"],
      encryptionOperations: ["wrapKey"], scheme: scheme)
  }

  private static func password(_ name: String, _ hash: HashFunction, _ size: AESKeySize) -> KeyManagementAlgorithm {
    KeyManagementAlgorithm(
      name: name, keyTypes: [.oct], minimumKeyBitCount: 64,
      decryptionOperations: ["deriveKey", "deriveBits", "unwrapKey"],
      encryptionOperations: ["deriveKey", "deriveBits", "wrapKey"], scheme: .passwordBased(hash, size))
  }
}
