/// The names of RFC 7518, RFC 8037, RFC 8812 and RFC 9864 that a configuration may use.
enum AlgorithmNames {
  /// `alg` of signatures.
  static let signature = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "ES256K", "EdDSA", "Ed25519",
    "Ed448", "HS256", "HS384", "HS512",
  ]
  /// `alg` of encryption.
  static let keyManagement =
    payloadKeyManagement + ["PBES2-HS256+A128KW", "PBES2-HS384+A192KW", "PBES2-HS512+A256KW"]
  /// `alg` of the encryption we do ourselves: no passwords.
  static let payloadKeyManagement = [
    "RSA-OAEP", "RSA-OAEP-256", "RSA-OAEP-384", "RSA-OAEP-512", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A192KW",
    "ECDH-ES+A256KW", "A128KW", "A192KW", "A256KW", "A128GCMKW", "A192GCMKW", "A256GCMKW", "dir",
  ]
  /// `enc` of encryption.
  static let contentEncryption = [
    "A128GCM", "A192GCM", "A256GCM", "A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512",
  ]
  /// The reasons why some names are rejected.
  static let rejectionReasons = [
    "none": "unsigned tokens are never accepted",
    "RSA1_5": "RSA1_5 is never accepted: it invites padding oracles (RFC 8725 section 3.2)",
  ]
}
