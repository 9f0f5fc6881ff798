public import JOSE
public import PosternSupport

/// The configuration of an issuer's tokens, the same for every call.
public struct IDTokenConfiguration: Sendable {
  /// The largest clock skew that is tolerated.
  public static let maximumClockSkew = Duration.seconds(300)

  /// The issuer identifier, compared byte by byte with `iss`.
  public var issuer: String
  /// The signature algorithms that may be used. A symmetric one counts only where `clientSecret` is given.
  public var algorithms: [SignatureAlgorithm]
  /// The tolerated clock skew, at most 300 s.
  public var clockSkew: Duration
  /// The audiences that a token may have in addition to the client.
  public var trustedAudiences: [String]
  /// Whether a token with several audiences must name in `azp` the client it was issued to.
  public var requiresAuthorizedParty: Bool
  /// The maximum age of a token, counted from `iat`; nil for no bound but `exp`.
  public var maximumTokenAge: Duration?
  /// The key of HS256, HS384 and HS512 (OpenID Connect Core section 10.1). No key set is ever used for these.
  public var clientSecret: Secret<String>?
  /// The policy for encrypted tokens.
  public var encryption: TokenEncryptionPolicy
  /// Whether a logout token must have `exp`, which providers of older drafts leave out. If not, one without it is valid
  /// for two minutes after `iat`.
  public var requiresLogoutExpiry = true
  /// The clients besides the token's audience that may have requested it (`azp`, `client_id`). Audiences that are
  /// trusted are trusted with that, too.
  public var trustedAuthorizedParties: [String] = []
  /// Whether any client of the same project may have requested a token: at Google, whose client ids begin with the
  /// project's number.
  public var trustsProject = false
  /// Whether a nonce is a violation where no nonce was sent. In the token of a refresh it is compared with the previous
  /// token instead.
  public var rejectsUnexpectedNonce = false
  /// Other names that the issuer's tokens have in `iss`.
  public var otherIssuers: [String] = []
  /// The format of the issuer's access tokens.
  public var accessTokenFormat = AccessTokenExpectations.Format.rfc9068
  /// The provider that the issuer evidently is, for the error of an access token in another format.
  package var likelyProvider: LikelyProvider?
  /// The client of this configuration: a token for it may be an ID token.
  public var clientID: String?

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

  /// Returns the algorithms that both this configuration and the caller's list allow.
  ///
  /// Two names of one computation match (RFC 9864): Ed25519 and Ed448 are each a part of EdDSA.
  func algorithms(narrowedTo wish: [SignatureAlgorithm]?) -> [SignatureAlgorithm] {
    let isWhole = clientSecret != nil || !algorithms.contains(where: \.isSymmetric)
    let own = isWhole ? algorithms : algorithms.filter { !$0.isSymmetric }
    guard let wish else { return own }
    return wish.compactMap { try? SignatureAlgorithm.resolve($0.name, allowed: own) }
  }

  static func bounded(_ skew: Duration) -> Duration { min(max(skew, .zero), maximumClockSkew) }
}

/// The requirements of one call for an ID token.
public struct IDTokenExpectations: Sendable {
  /// The client that the token must be for.
  public var clientID: String
  /// The nonce of the authorization request. Nil: none was sent, and one in the token is ignored unless
  /// `rejectsUnexpectedNonce`.
  public var nonce: String?
  /// The authorization code, to compare with `c_hash`.
  public var authorizationCode: Secret<String>?
  /// The access token, to compare with `at_hash`.
  public var accessToken: Secret<String>?
  /// The `state` of the authorization request, to compare with `s_hash`.
  public var state: String?
  /// The longest time since the user's authentication.
  public var maxAge: Duration?
  /// The accepted authentication contexts; empty accepts any.
  public var acrValues: [String]
  /// The flow by which the token was obtained.
  public var flow: TokenFlow
  /// The time of the validation; nil for now.
  public var now: Timestamp?

  /// The accepted signature algorithms; they may only narrow the configured ones. Nil: the configured ones.
  public var algorithms: [SignatureAlgorithm]?
  /// Replaces the configured additional audiences; nil keeps them.
  public var trustedAudiences: [String]?
  /// Replaces the configured clock skew; at most 300 s. Nil keeps it.
  public var clockSkew: Duration?
  /// Replaces the configured requirement of `azp`; nil keeps it.
  public var requiresAuthorizedParty: Bool?
  /// Replaces the configured rejection of a nonce that was not sent; nil keeps it.
  public var rejectsUnexpectedNonce: Bool?

  /// Expectations of the given parts; the others keep their defaults until they are set.
  public init(
    clientID: String, nonce: String? = nil, authorizationCode: Secret<String>? = nil,
    accessToken: Secret<String>? = nil, flow: TokenFlow = .code
  ) {
    self.clientID = clientID
    self.nonce = nonce
    self.authorizationCode = authorizationCode
    self.accessToken = accessToken
    self.flow = flow
    acrValues = []
  }
}

/// The flow by which an ID token was obtained, which adds rules to the common ones.
public enum TokenFlow: Sendable, Hashable {
  /// The token endpoint's answer to an authorization code (OpenID Connect Core section 3.1).
  case code
  /// The authorization endpoint's answer without a code (section 3.2).
  case implicit
  /// The authorization endpoint's answer with a code (section 3.3). `other` is the token endpoint's ID token of the
  /// same authorization, where it is available for comparison.
  case hybrid(other: String? = nil)
  /// The token endpoint's answer to a refresh token (section 12.2): compared with the previous ID token.
  case refresh(previous: String)

  /// Whether the token came through the browser, so that only its own contents tie it to the request.
  var isFrontChannel: Bool {
    switch self {
    case .implicit, .hybrid: true
    case .code, .refresh: false
    }
  }
}

extension IDTokenConfiguration: ConciseStringConvertible {
  /// Issuer and algorithms: never the client's secret.
  public var description: String {
    Concise.text("ID tokens of \(Concise.name(issuer))", Concise.list(algorithms.map(\.name), of: "algorithm"))
  }
}

extension IDTokenExpectations: ConciseStringConvertible {
  /// The client: nonce, code, token and state are the login's secrets.
  public var description: String {
    Concise.text(
      "client \(Concise.name(clientID))", maxAge.map { "authenticated at most \($0) ago" },
      acrValues.isEmpty ? nil : Concise.list(acrValues, of: "acr value"), "\(flow)")
  }
}

extension TokenFlow: ConciseStringConvertible {
  /// The flow: never the previous token.
  public var description: String {
    switch self {
    case .code: "code flow"
    case .implicit: "implicit flow"
    case .hybrid: "hybrid flow"
    case .refresh: "refresh"
    }
  }
}

/// A kind of provider, by its name in configurations, with the format of its access tokens.
package struct LikelyProvider: Sendable, Hashable {
  /// The value of `issuers.NAME.provider`.
  package let name: String
  /// The format of its access tokens.
  package let format: AccessTokenExpectations.Format

  /// A kind of provider.
  package init(name: String, format: AccessTokenExpectations.Format) {
    self.name = name
    self.format = format
  }
}
