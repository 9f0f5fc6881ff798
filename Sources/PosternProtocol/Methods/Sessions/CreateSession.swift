public import PosternSupport

/// `createSession`: a session from tokens or a grant.
public enum CreateSession: RPCMethod {
  public static let name = "createSession"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .makesSessions
  public static let summary = "Creates a session"
  public static let explanation =
    "The caller gets a handle; the tokens stay in the sidecar. Handles belong to the user id of the peer that created them."
  public static let resultSummary = "The session"
  public static let errors: [ErrorCode] = [
    .tokenEndpointError, .tokenEndpointUnreachable, .authorizationFailed, .storeUnavailable, .sessionIssuerUnknown,
    .grantNotSupported, .adviceRequired,
  ]

  /// The grant that the session is made from: `type`, and the members that belong to it.
  public struct Grant: RPCObject {
    /// The kinds of grants.
    public enum Kind: String, SchemaEnumeration, Sendable {
      case tokens, sso, implicit
      case refreshToken = "refresh_token"
      case tokenExchange = "token_exchange"
      case jwtBearer = "jwt_bearer"
      case authorizationCode = "authorization_code"
    }

    public var type: Kind
    public var accessToken: String?
    public var refreshToken: String?
    public var idToken: String?
    public var expiresIn: Int?
    public var scope: String?
    public var ssoToken: String?
    public var subjectToken: String?
    public var subjectTokenType: String?
    public var actorToken: String?
    public var assertion: String?
    public var code: String?
    public var codeVerifier: String?
    public var redirectUri: String?
    public var profile: String?

    public static let memberDocs = [
      "type": "The grant; the other members belong to some of them",
      "accessToken": "tokens: an access token from elsewhere",
      "refreshToken": "tokens, refresh_token: a refresh token",
      "idToken": "tokens: an ID token, which is validated",
      "expiresIn": "tokens: the access token's life in seconds from now; default 300",
      "scope": "tokens: the scope that was granted",
      "ssoToken": "tokens, sso: a single sign-on token of the access manager",
      "subjectToken": "token_exchange: the token to exchange (RFC 8693)",
      "subjectTokenType": "token_exchange: its type; default an access token",
      "actorToken": "token_exchange: an access token of the acting party",
      "assertion": "jwt_bearer: the assertion (RFC 7523 section 2.1)",
      "code": "authorization_code: the code",
      "codeVerifier": "authorization_code: the verifier of PKCE",
      "redirectUri": "authorization_code: where the code was sent",
      "profile": "implicit: the subject of an earlier user session of this peer",
    ]
  }

  public struct Params: RPCObject {
    public var issuer: String
    public var grant: Grant

    public static let memberDocs = [
      "issuer": "A configured issuer's name",
      "grant": "The grant that creates the session",
    ]
  }

  public typealias Result = SessionDescription
}
