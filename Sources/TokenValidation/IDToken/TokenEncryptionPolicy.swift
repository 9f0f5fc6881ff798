public import JOSE

/// What was agreed with an issuer about encrypted tokens (OpenID Connect Core section 10.2).
public struct TokenEncryptionPolicy: Sendable {
  /// Whether a token that is only signed is refused.
  public var isRequired: Bool
  /// The private keys to decrypt with; a key without `kid` stands for any.
  public var keys: [JWK]
  /// The `alg` values that may be used. A symmetric one takes its key from the client secret.
  public var algorithms: [KeyManagementAlgorithm]
  /// The `enc` values that may be used.
  public var encryptions: [ContentEncryption]

  /// RSA-OAEP with SHA-1 or SHA-256 and the variants of ECDH-ES: what needs no shared key and has no known oracle.
  public static let defaultAlgorithms: [KeyManagementAlgorithm] = [
    .rsaOAEP256, .rsaOAEP, .ecdhES, .ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW,
  ]

  /// The same, where encryption may be left out: what is required of ID tokens (`id_token_encrypted_response_alg`) is
  /// said of no other token.
  var optional: TokenEncryptionPolicy {
    var policy = self
    policy.isRequired = false
    return policy
  }

  /// Nothing was agreed: an encrypted token is refused.
  public static let none = TokenEncryptionPolicy(keys: [])

  /// A policy of the given parts.
  public init(
    isRequired: Bool = false, keys: [JWK], algorithms: [KeyManagementAlgorithm] = Self.defaultAlgorithms,
    encryptions: [ContentEncryption] = ContentEncryption.all
  ) {
    self.isRequired = isRequired
    self.keys = keys
    self.algorithms = algorithms
    self.encryptions = encryptions
  }
}
