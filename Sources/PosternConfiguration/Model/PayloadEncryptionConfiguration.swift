public import JOSE
import PosternJSON
public import PosternSupport

/// Bodies encrypted as JWE (RFC 7516), in both directions.
public struct PayloadEncryptionConfiguration: Sendable, Equatable {
  /// `alg`. Default ECDH-ES+A256KW.
  public var algorithm: KeyManagementAlgorithm
  /// `enc`. Default A256GCM.
  public var encryption: ContentEncryption
  /// File of the resource server's key: PEM, JWK or JWK Set.
  public var recipientKeyFile: String
  /// The private key that answers are encrypted to; nil where answers come in the clear.
  public var decryptionKey: ConfiguredSecret<String>?
}

extension PayloadEncryptionConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    algorithm = keys.value(
      "algorithm", .algorithm(among: KeyManagementAlgorithm.asymmetric + KeyManagementAlgorithm.symmetric),
      default: .ecdhESA256KW, "Key management algorithm (alg of the JWE header).")
    encryption = keys.value(
      "encryption", .contentEncryption, default: .a256GCM, "Content encryption algorithm (enc of the JWE header).")
    recipientKeyFile = keys.required(
      "recipientKeyFile", .file,
      "File of the resource server's key: public key or certificate (PEM), JWK, or JWK Set with one key that fits.",
      example: .shown("/etc/postern/billing-recipient.pem"))
    decryptionKey = keys.secret(
      "decryptionKey", .text,
      """
      File of the private key that answers are encrypted to (PEM or JWK), or of several (JWK Set). Left out: answers come in the \
      clear.
      """,
      exampleFile: .shown("/run/secrets/billing-decryption.pem"))
  }
}
