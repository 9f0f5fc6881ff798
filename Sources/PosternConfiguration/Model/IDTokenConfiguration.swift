import PosternJSON
public import PosternSupport

/// The requirements on ID tokens of an issuer (OpenID Connect Core 1.0 section 3.1.3.7).
public struct IDTokenConfiguration: Sendable, Equatable {
  /// Encrypted ID tokens (OpenID Connect Core 1.0 section 10.2).
  public struct Encryption: Sendable, Equatable {
    /// Whether a token that is not encrypted is rejected. Default false.
    public var isRequired: Bool
    /// The private keys to decrypt with, one a file.
    public var keys: [ConfiguredSecret<String>]
    /// The `alg` values that are accepted. Default RSA-OAEP-256 and ECDH-ES+A256KW.
    public var algorithms: [String]
  }

  /// The signature algorithms that are accepted. Default RS256.
  public var algorithms: [String]
  /// How far clocks may differ, at most 5 minutes. Default 30 seconds.
  public var clockSkew: Duration
  /// Audiences that a token may have in addition to the client. Default none.
  public var trustedAudiences: [String]
  /// Clients that may have requested a token for this one (`azp`). Default none.
  public var trustedAuthorizedParties: [String]
  /// Whether a token with several audiences must say to whom it was issued (`azp`). Default false.
  public var requireAzp: Bool
  /// Whether a logout token must have `exp` (Back-Channel Logout 1.0 section 2.4). Default true.
  public var requireLogoutExp: Bool
  /// Encrypted ID tokens.
  public var encryption: Encryption
}

extension IDTokenConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    algorithms = keys.list(
      "algorithms", of: .oneOf(AlgorithmNames.signature, rejectionReasons: AlgorithmNames.rejectionReasons),
      default: ["RS256"],
      "Signature algorithms that are accepted. HS256, HS384 and HS512 use the client secret as the key.",
      example: .shown(["RS256", "ES256"]))
    clockSkew = keys.value(
      "clockSkew", .duration(upTo: .seconds(300)), default: .seconds(30), "How far the issuer's clock may be off.")
    trustedAudiences = keys.list(
      "trustedAudiences", of: .text, default: [], "Audiences that a token may have in addition to the client.")
    trustedAuthorizedParties = keys.list(
      "trustedAuthorizedParties", of: .text, default: [],
      "Clients that may have requested a token for this client (azp), such as an Android app of the same owner.")
    requireAzp = keys.value(
      "requireAzp", .boolean, default: false, "Whether a token with several audiences must have azp.")
    requireLogoutExp = keys.value(
      "requireLogoutExp", .boolean, default: true,
      "Whether a logout token must have exp. If not, one without it is valid for two minutes after iat.")
    encryption = keys.section("encryption", Encryption.self, "Encrypted ID tokens.")
    if keys.entry("algorithms")?.value.content == .sequence([]) {
      keys.problem("no token could be valid: name an algorithm", at: "algorithms")
    }
  }
}

extension IDTokenConfiguration.Encryption: ConfigurationSection {
  package init(reading keys: SectionReader) {
    isRequired = keys.value("required", .boolean, default: false, "Whether a token that is not encrypted is rejected.")
    self.keys = keys.secretFiles(
      "keyFiles", "Files with the private keys to decrypt with.", example: .commented(["/run/secrets/id-token-key.pem"])
    )
    algorithms = keys.list(
      "algorithms", of: .oneOf(AlgorithmNames.keyManagement, rejectionReasons: AlgorithmNames.rejectionReasons),
      default: ["RSA-OAEP-256", "ECDH-ES+A256KW"],
      "Key management algorithms (alg of the JWE header) that are accepted.")
    if isRequired, !keys.isGiven("keyFiles") {
      keys.problem("encryption cannot be required without keyFiles", at: "required")
    }
  }
}

/// The names of RFC 7518, RFC 8037, RFC 8812 and RFC 9864 that a configuration may use.
enum AlgorithmNames {
  /// `alg` of signatures.
  static let signature = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "ES256K", "EdDSA", "Ed25519",
    "Ed448", "HS256", "HS384", "HS512",
  ]
  /// `alg` of assertions by a key pair.
  static let assertion = signature.filter { !$0.hasPrefix("HS") }
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
