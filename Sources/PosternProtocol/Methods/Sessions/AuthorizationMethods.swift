public import PosternSupport

/// `beginAuthorization`: the first half of a login.
public enum BeginAuthorization: RPCMethod {
  public static let name = "beginAuthorization"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .makesSessions
  public static let summary = "Begins a login with an authorization code"
  public static let explanation =
    "PKCE with S256, state and nonce are the sidecar's; the request is pushed (RFC 9126) where the issuer takes that."
  public static let resultSummary = "Where to send the user's browser"
  public static let errors: [ErrorCode] = [
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
    public var cookie: String?
    public var expiresAt: String
    public var redirectUri: String?

    /// A result of the given parts.
    public init(
      authorizationUrl: String, state: String, cookie: String?, expiresAt: String, redirectUri: String? = nil
    ) {
      self.authorizationUrl = authorizationUrl
      self.state = state
      self.cookie = cookie
      self.expiresAt = expiresAt
      self.redirectUri = redirectUri
    }

    public static let memberDocs = [
      "authorizationUrl": "Where to send the user's browser",
      "state":
        "The state of the authorization request; the callback contains it. Keep it in a cookie of the browser (HttpOnly, Secure, SameSite=Lax)",
      "cookie":
        "A ready Set-Cookie value that does so; left out where redirectUri is not http or https",
      "expiresAt": "When the authorization expires",
      "redirectUri": "The redirectUri that was used, when the call left it out",
    ]
  }
}

/// `completeAuthorization`: the second half of a login.
public enum CompleteAuthorization: RPCMethod {
  public static let name = "completeAuthorization"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .makesSessions
  public static let summary = "Ends a login with the URL the issuer sent the user back to"
  public static let explanation =
    "state, the issuer's name (RFC 9207), the code and the ID token with its nonce are all checked. A state is good for one try."
  public static let resultSummary = "The session"
  public static let errors: [ErrorCode] = [
    .tokenEndpointError, .tokenEndpointUnreachable, .authorizationFailed, .stateUnknown, .storeUnavailable,
    .sessionIssuerUnknown, .grantNotSupported,
  ]

  public struct Params: RPCObject {
    public var callbackUrl: String
    public var state: String?
    public var replaces: String?

    public static let memberDocs = [
      "callbackUrl": "The whole URL, with its query",
      "state":
        "Required: what the browser brought in its own cookie, which the program set to beginAuthorization's state. Another one than the callback's is authorization_failed with detail state_mismatch, and uses nothing up",
      "replaces":
        "The handle of the session that the browser had before, from its cookie: it is replaced. Any other text counts as none",
    ]
  }

  public typealias Result = SessionDescription
}

/// `beginDeviceAuthorization`: a login on another device.
public enum BeginDeviceAuthorization: RPCMethod {
  public static let name = "beginDeviceAuthorization"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .makesSessions
  public static let summary = "Begins a login on another device (RFC 8628)"
  public static let resultSummary = "The code and the URL to show to the user"
  public static let errors: [ErrorCode] = [
    .tokenEndpointError, .tokenEndpointUnreachable, .storeUnavailable, .sessionIssuerUnknown, .grantNotSupported,
  ]

  public struct Params: RPCObject {
    public var issuer: String
    public var scope: String?

    public static let memberDocs = [
      "issuer": "A configured issuer's name",
      "scope": "The scope; default: the issuer's, and what its users' resources need",
    ]
  }

  public struct Result: RPCObject {
    public var handle: String
    public var userCode: String
    public var verificationUri: String
    public var verificationUriComplete: String?
    public var expiresAt: String
    public var intervalMs: Int64

    /// A result of the given parts.
    public init(
      handle: String, userCode: String, verificationUri: String, verificationUriComplete: String?, expiresAt: String,
      intervalMs: Int64
    ) {
      self.handle = handle
      self.userCode = userCode
      self.verificationUri = verificationUri
      self.verificationUriComplete = verificationUriComplete
      self.expiresAt = expiresAt
      self.intervalMs = intervalMs
    }

    public static let memberDocs = [
      "handle": "The handle to pass to completeDeviceAuthorization",
      "userCode": "The code that the user types",
      "verificationUri": "The page on which the user types it",
      "verificationUriComplete": "The same with the code in it, for a link or a QR code",
      "expiresAt": "When the code expires",
      "intervalMs": "How long to wait between two questions",
    ]
  }
}

/// `completeDeviceAuthorization`: checks whether the user has decided.
public enum CompleteDeviceAuthorization: RPCMethod {
  public static let name = "completeDeviceAuthorization"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .makesSessions
  public static let summary = "Checks whether the user has decided"
  public static let explanation =
    "Answers authorization_pending with retryAfterMs until then; a call before that sends no request to the issuer."
  public static let resultSummary = "The session"
  public static let errors: [ErrorCode] = [
    .tokenEndpointError, .tokenEndpointUnreachable, .authorizationFailed, .stateUnknown, .authorizationPending,
    .storeUnavailable, .sessionIssuerUnknown, .grantNotSupported,
  ]

  public struct Params: RPCObject {
    public var handle: String

    public static let memberDocs = [
      "handle": "The handle that beginDeviceAuthorization returned"
    ]
  }

  public typealias Result = SessionDescription
}
