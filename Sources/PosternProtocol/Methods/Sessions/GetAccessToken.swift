public import PosternJSON
public import PosternSupport

/// `getAccessToken`: hands a token out, where that is allowed.
public enum GetAccessToken: RPCMethod {
  public static let name = "getAccessToken"
  public static let bounds: PeerBounds = [.resources, .issuers]
  public static let chain: ChainRule = .beyond([.resources, .httpMethods, .paths])
  public static let summary = "Hands out an access token"
  public static let explanation =
    """
    Rejected (peer_forbidden) unless tokens.leaveTheSidecar is on, for a token that is bound to a key (DPoP), which never leaves the \
    sidecar, and for a resource with auth: credential.
    """
  public static let resultSummary = "The token"
  public static let errors: [ErrorCode] = [
    .notAuthenticated, .notImplicitlyAuthenticated, .deviceNotAuthenticated, .networkUnreachable, .serverUnreachable,
    .tlsFailure, .protocolError, .responseTooLarge, .sessionNotFound, .sessionExpired, .tokenEndpointError,
    .tokenEndpointUnreachable, .storeUnavailable, .sessionIssuerUnknown, .adviceRequired, .interactionRequired,
    .jwksFetchFailed, .discoveryFailed, .discoveryIssuerMismatch, .jwksInvalid, .introspectionFailed,
  ]

  public struct Params: RPCObject {
    public var resource: String?
    public var issuer: String?
    public var auth: FetchResource.Authentication?
    public var session: String?
    public var onBehalfOf: OnBehalfOf?
    public var minTtlSeconds: Int?

    public static let memberDocs = [
      "resource": "The resource the token is for",
      "issuer": "The issuer of the token, without resource",
      "auth":
        "user, implicit, clientCredentials or onBehalfOf; default: the resource's, else user with a session and clientCredentials without",
      "session": "With user and implicit: the session's handle, or `only`, the caller's only live one",
      "onBehalfOf": "The inbound token that is exchanged for the resource's token, with auth onBehalfOf",
      "minTtlSeconds": "How long it must live at least",
    ]
  }

  public struct Result: ValueResult {
    public var accessToken: String
    public var tokenType: String
    public var expiresAt: String
    public var scope: String?

    /// A token of the given parts.
    public init(accessToken: String, tokenType: String, expiresAt: String, scope: String?) {
      self.accessToken = accessToken
      self.tokenType = tokenType
      self.expiresAt = expiresAt
      self.scope = scope
    }

    public var json: JSONValue {
      var members: [JSONObject.Member] = []
      members.reserveCapacity(4)
      members.add("accessToken", .string(accessToken))
      members.add("tokenType", .string(tokenType))
      members.add("expiresAt", .string(expiresAt))
      members.add("scope", scope.map { .string($0) })
      return members.json
    }

    public static let memberDocs = [
      "accessToken": "The token",
      "tokenType": "Bearer: nothing else leaves",
      "expiresAt": "When it expires",
      "scope": "The granted scope, if the issuer returned it",
    ]
  }
}

/// The inbound token on whose user's behalf a call is made.
public struct OnBehalfOf: RPCObject {
  /// The token that a client has sent to the calling program.
  public var token: String
  /// The audience that it must be for.
  public var audience: String?

  /// A token for the audience that the resource's configuration names.
  public init(token: String) { self.token = token }

  public static let memberDocs = [
    "token":
      "The access token that the caller received from its own client, at most 64 KiB; validated before it is exchanged",
    "audience": "The audience it must be for; default: the first of the resource's exchange.inboundAudience",
  ]
}

extension GetAccessToken.Params {
  public static func read(_ object: JSONTree) -> Self? {
    var params = Self()
    return object.readMembers { params.read($0) } ? params : nil
  }

  private mutating func read(_ member: JSONTree.Member) -> Bool {
    if member.isNamed("resource") { return member.read(&resource) }
    if member.isNamed("issuer") { return member.read(&issuer) }
    if member.isNamed("auth") { return member.read(&auth) }
    if member.isNamed("session") { return member.read(&session) }
    if member.isNamed("minTtlSeconds") { return member.read(&minTtlSeconds) }
    return false
  }
}
