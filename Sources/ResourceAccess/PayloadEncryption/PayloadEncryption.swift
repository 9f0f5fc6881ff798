public import JOSE
public import PosternSupport

/// How a resource's bodies are encrypted, as compact JWE (RFC 7516), and with which keys.
public struct PayloadEncryption: Sendable, ConciseStringConvertible {
  /// `application/jose` (RFC 7515 section 9.2.1), in both directions.
  static let mediaType = "application/jose"
  /// A longer header of an answer is not parsed.
  static let maxHeaderBytes = 16 << 10

  /// `alg`, of requests and of answers.
  public let algorithm: KeyManagementAlgorithm
  /// `enc`, of requests and of answers.
  public let encryption: ContentEncryption
  /// The key that requests are encrypted to.
  public let recipient: JWK
  /// The keys that responses may be encrypted to: the one in use and those before or after it. Empty where they come in
  /// the clear.
  public let decryptionKeys: [JWK]
  /// The algorithms: never key material.
  public var description: String {
    Concise.text("\(algorithm) with \(encryption)", decryptsAnswers ? "answers too" : nil)
  }

  /// Whether answers must be encrypted.
  public var decryptsAnswers: Bool { !decryptionKeys.isEmpty }

  /// Why a key cannot be used.
  public enum KeyError: Error, Sendable, ConciseStringConvertible {
    /// The recipient's key cannot be encrypted to.
    case recipient(JOSEError)
    /// A key for answers cannot decrypt.
    case decryptionKey(JOSEError)
    /// Which key it is, and why it cannot be used.
    public var description: String {
      switch self {
      case .recipient(let error): "the recipient's key cannot be used: \(error)"
      case .decryptionKey(let error): "a key for answers cannot be used: \(error)"
      }
    }
  }

  /// Encryption with keys that are tried out here. Of a recipient's key pair only the public half is kept.
  public init(
    algorithm: KeyManagementAlgorithm, encryption: ContentEncryption, recipient: JWK, decryptionKeys: [JWK] = []
  ) throws(KeyError) {
    self.algorithm = algorithm
    self.encryption = encryption
    self.recipient = recipient.publicKey ?? recipient
    self.decryptionKeys = decryptionKeys
    do throws(JOSEError) {
      _ = try CompactJWE.encrypt([], for: self.recipient, algorithm: algorithm, encryption: encryption)
    } catch {
      throw .recipient(error)
    }
    do throws(JOSEError) {
      for key in decryptionKeys { try Self.tryOut(key, algorithm, encryption) }
    } catch {
      throw .decryptionKey(error)
    }
  }

  private static func tryOut(
    _ key: JWK, _ algorithm: KeyManagementAlgorithm, _ encryption: ContentEncryption
  ) throws(JOSEError) {
    // `key_ops` of a private key speak of decrypting.
    let sender = JWK(key.material.publicMaterial ?? key.material, algorithm: key.algorithm, use: key.use)
    let token = try CompactJWE.encrypt([], for: sender, algorithm: algorithm, encryption: encryption)
    _ = try CompactJWE(token).decrypt(with: key, algorithm: algorithm, encryption: encryption)
  }
}
