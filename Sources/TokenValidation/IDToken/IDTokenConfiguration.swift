public import JOSE
public import PosternSupport

/// What is configured about an issuer's tokens, the same for every call.
public struct IDTokenConfiguration: Sendable {
  /// The largest clock skew that is ever granted.
  public static let maximumClockSkew = Duration.seconds(300)

  /// The issuer identifier, compared byte by byte with `iss`.
  public var issuer: String
  /// The signature algorithms that may be used. A symmetric one counts only where `clientSecret` is given.
  public var algorithms: [SignatureAlgorithm]
  /// How far the issuer's clock may be off, at most 300 s.
  public var clockSkew: Duration
  /// Audiences beside the client that a token may have.
  public var trustedAudiences: [String]
  /// Whether a token with several audiences must say in `azp` to whom it was issued.
  public var requiresAuthorizedParty: Bool
  /// The oldest token, counted from `iat`; nil: no bound but `exp`.
  public var maximumTokenAge: Duration?
  /// The key of HS256, HS384 and HS512 (OpenID Connect Core section 10.1). No key set ever is.
  public var clientSecret: Secret<String>?
  /// What was agreed about encryption.
  public var encryption: TokenEncryptionPolicy

  /// A configuration of the given parts.
  public init(
    issuer: String, algorithms: [SignatureAlgorithm] = [.rs256], clockSkew: Duration = .seconds(30),
    trustedAudiences: [String] = [], requiresAuthorizedParty: Bool = false, maximumTokenAge: Duration? = nil,
    clientSecret: Secret<String>? = nil, encryption: TokenEncryptionPolicy = .none
  ) {
    self.issuer = issuer
    self.algorithms = algorithms
    self.clockSkew = clockSkew
    self.trustedAudiences = trustedAudiences
    self.requiresAuthorizedParty = requiresAuthorizedParty
    self.maximumTokenAge = maximumTokenAge
    self.clientSecret = clientSecret
    self.encryption = encryption
  }

  /// The algorithms that this configuration and a caller's wish to narrow it leave over.
  ///
  /// Names of one computation meet (RFC 9864): Ed25519 and Ed448 are each a part of EdDSA.
  func algorithms(narrowedTo wish: [SignatureAlgorithm]?) -> [SignatureAlgorithm] {
    let isWhole = clientSecret != nil || !algorithms.contains(where: \.isSymmetric)
    let own = isWhole ? algorithms : algorithms.filter { !$0.isSymmetric }
    guard let wish else { return own }
    return wish.compactMap { try? SignatureAlgorithm.resolve($0.name, allowed: own) }
  }

  static func bounded(_ skew: Duration) -> Duration { min(max(skew, .zero), maximumClockSkew) }
}
