public import PosternJSONRPC

/// `beginAuthorization`: the first half of a login.
public enum BeginAuthorization: RPCMethod {
  public static let name = "beginAuthorization"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Begins a login with an authorization code"
  public static let explanation =
    "PKCE with S256, state and nonce are the sidecar's; the request is pushed (RFC 9126) where the issuer takes that."
  public static let resultSummary = "Where to send the user's browser"
  public static let errors: [RPCErrorCode] = [
    .tokenEndpointError, .tokenEndpointUnreachable, .storeUnavailable, .sessionIssuerUnknown, .grantNotSupported,
  ]

  public struct Params: RPCObject {
    public var issuer: String
    public var redirectUri: String?
    public var scope: String?
    public var prompt: String?
    public var acrValues: [String]?
    public var maxAge: Int?
    public var loginHint: String?
    public var resource: String?

    public static let memberDocs = [
      "issuer": "A configured issuer's name",
      "redirectUri": "Where the issuer sends the user back to; default: the issuer's configured redirectUri",
      "scope": "The scope; default: the issuer's, else openid, and what its users' resources need",
      "prompt": "none, login, consent or select_account",
      "acrValues": "Authentication contexts, of which the ID token must have one",
      "maxAge": "How many seconds ago the user may have authenticated at most",
      "loginHint": "The user who will log in, if known",
      "resource": "The resource that the token is for (RFC 8707)",
    ]
  }

  public struct Result: RPCObject {
    public var authorizationUrl: String
    public var state: String
    public var expiresAt: String
    public var redirectUri: String?

    /// A result of the given parts.
    public init(authorizationUrl: String, state: String, expiresAt: String, redirectUri: String? = nil) {
      self.authorizationUrl = authorizationUrl
      self.state = state
      self.expiresAt = expiresAt
      self.redirectUri = redirectUri
    }

    public static let memberDocs = [
      "authorizationUrl": "Where to send the user's browser",
      "state": "The state of the authorization request; the callback contains it",
      "expiresAt": "When the authorization expires",
      "redirectUri": "The redirectUri that was used, when the call left it out",
    ]
  }
}
