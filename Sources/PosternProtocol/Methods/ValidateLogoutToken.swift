public import PosternJSON
public import PosternJSONRPC

/// `validateLogoutToken`: back-channel logout.
public enum ValidateLogoutToken: RPCMethod {
  public static let name = "validateLogoutToken"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Validates a logout token (OpenID Connect Back-Channel Logout 1.0)"
  public static let explanation =
    "A logout token is good for one use: the second time it is jti_replayed. With `end`, a valid one ends the sessions "
    + "of its login, of all users: by `sid` that login alone, else all of `sub`."
  public static let resultSummary = "The verdict, and how many sessions were ended"
  public static let errors = RPCErrorCode.keySources + [.storeUnavailable, .overloaded]

  public struct Params: RPCObject, IssuerReference {
    public var logoutToken: String
    public var issuer: String?
    public var expectedIssuer: String?
    public var clientId: String?
    public var jwks: JSONValue?
    public var jwksUrl: String?
    public var now: Double?
    public var end: Bool?

    public static let memberDocs = IssuerReferenceDocs.with([
      "end": "Ends the sessions of the token's login, too; only with issuer, without now, for the issuer's client",
      "logoutToken": "The token",
      "clientId": "The client that the token must be for; default: the configured issuer's client",
      "now": "Seconds since the epoch to judge by; only where development.callerClock is on",
    ])
  }

  public typealias Result = LogoutVerdict
}
