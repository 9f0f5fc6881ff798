public import JOSE
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
    public var algorithms: [KeyManagementAlgorithm]
  }

  /// The signature algorithms that are accepted. Default RS256.
  public var algorithms: [SignatureAlgorithm]
  /// How far clocks may differ, at most 5 minutes. Default 30 seconds.
  public var clockSkew: Duration
  /// Audiences that a token may have in addition to the client. Default none.
  public var trustedAudiences: [String]
  /// Clients that may have requested a token for this one (`azp`, `client_id`). Default none.
  public var trustedAuthorizedParties: [String]
  /// Whether a token with several audiences must say to whom it was issued (`azp`). Default false.
  public var requireAzp: Bool
  /// Whether a nonce makes a token invalid where no nonce was sent. Default false.
  public var rejectUnexpectedNonce: Bool
  /// Whether a logout token must have `exp` (Back-Channel Logout 1.0 section 2.4). Default true.
  public var requireLogoutExp: Bool
  /// Encrypted ID tokens.
  public var encryption: Encryption
}

extension IDTokenConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    algorithms = keys.list(
      "algorithms", of: .algorithm(among: SignatureAlgorithm.all), default: [.rs256],
      "Signature algorithms that are accepted. HS256, HS384 and HS512 use the client secret as the key.",
      example: .shown(["RS256", "ES256"]))
    clockSkew = keys.value(
      "clockSkew", .duration(upTo: .seconds(300)), default: .seconds(30), "How far the issuer's clock may be off.")
    trustedAudiences = keys.list(
      "trustedAudiences", of: .text, default: [], "Audiences that a token may have in addition to the client.")
    trustedAuthorizedParties = keys.list(
      "trustedAuthorizedParties", of: .text, default: [],
      "Clients that may have requested a token for this client (azp, client_id), such as an Android app of the same owner."
    )
    requireAzp = keys.value(
      "requireAzp", .boolean, default: false, "Whether a token with several audiences must have azp.")
    rejectUnexpectedNonce = keys.value(
      "rejectUnexpectedNonce", .boolean, default: false,
      "Whether a nonce makes a token invalid where no nonce was sent.")
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
      "algorithms",
      of: .algorithm(
        among: KeyManagementAlgorithm.asymmetric + KeyManagementAlgorithm.symmetric
          + KeyManagementAlgorithm.insecurePasswordBased),
      default: [.rsaOAEP256, .ecdhESA256KW],
      "Key management algorithms (alg of the JWE header) that are accepted.")
    if isRequired, !keys.isGiven("keyFiles") {
      keys.problem("encryption cannot be required without keyFiles", at: "required")
    }
  }
}
