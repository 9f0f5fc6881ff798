/// A client registered at the playground's provider.
public struct PlaygroundClient: Sendable, Hashable {
  /// How a client may authenticate (RFC 6749 section 2.3, OpenID Connect Core section 9).
  public enum Authentication: String, Sendable, Hashable, CaseIterable {
    /// HTTP Basic of the form-encoded id and secret.
    case basic = "client_secret_basic"
    /// `client_id` and `client_secret` in the form.
    case post = "client_secret_post"
    /// A JWT signed with the client's key (RFC 7523 section 2.2).
    case privateKeyJWT = "private_key_jwt"
    /// A public client: `client_id` alone.
    case none
  }

  /// The credentials that a client may present at the token endpoint.
  public enum Grant: String, Sendable, Hashable, CaseIterable {
    /// RFC 6749 section 4.1.
    case authorizationCode = "authorization_code"
    /// RFC 6749 section 6.
    case refreshToken = "refresh_token"
    /// RFC 6749 section 4.4.
    case clientCredentials = "client_credentials"
    /// RFC 8628.
    case deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
    /// RFC 8693.
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    /// RFC 7523 section 2.1.
    case jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  }

  /// The client's identifier.
  public var id: String
  /// Its secret: of a development double, therefore no secret at all. Empty for a client that has none.
  public var secret: String
  /// The scopes it may request, and gets when it requests none.
  public var scopes: [String]
  /// How it may authenticate.
  public var authentication: Set<Authentication>
  /// The credentials it may present at the token endpoint.
  public var grants: Set<Grant>
  /// The redirect URIs: compared byte by byte, but with any port where the host is a loopback address (RFC 8252 section
  /// 7.3).
  public var redirectURIs: [String]
  /// Where users may be sent after logging out, compared in the same way.
  public var postLogoutRedirectURIs: [String]
  /// The algorithm its ID tokens are signed with: `RS256`, `ES256` or `EdDSA`.
  public var idTokenAlgorithm: String
  /// Further audiences of its ID tokens, which then have an `azp`.
  public var idTokenAudiences: [String]
  /// Its public keys as a JWK set (RFC 7517 section 5). A client that needs keys and has none gets the playground's
  /// client key.
  public var keySet: String?
  /// Whether all its tokens must be bound to a key (RFC 9449 section 5.2, `dpop_bound_access_tokens`).
  public var requiresDPoP: Bool

  /// A client; by default a confidential one without users, which may use both ways of authentication by secret.
  public init(
    id: String,
    secret: String,
    scopes: [String] = ["orders", "orders:write", "profile"],
    authentication: Set<Authentication> = [.basic, .post],
    grants: Set<Grant> = [.clientCredentials],
    redirectURIs: [String] = [],
    postLogoutRedirectURIs: [String] = [],
    idTokenAlgorithm: String = "RS256",
    idTokenAudiences: [String] = [],
    keySet: String? = nil,
    requiresDPoP: Bool = false
  ) {
    self.id = id
    self.secret = secret
    self.scopes = scopes
    self.authentication = authentication
    self.grants = grants
    self.redirectURIs = redirectURIs
    self.postLogoutRedirectURIs = postLogoutRedirectURIs
    self.idTokenAlgorithm = idTokenAlgorithm
    self.idTokenAudiences = idTokenAudiences
    self.keySet = keySet
    self.requiresDPoP = requiresDPoP
  }

  /// Whether it has no means to authenticate (RFC 6749 section 2.1).
  var isPublic: Bool { authentication == [.none] }

  /// Whether its keys are used to verify signatures.
  var needsKeys: Bool { authentication.contains(.privateKeyJWT) || grants.contains(.jwtBearer) }
}
