public import PosternJSON
public import PosternJSONRPC

/// `validateIdToken`: every rule of OpenID Connect, in a fixed order, each with its own error.
public enum ValidateIDToken: RPCMethod {
  public static let name = "validateIdToken"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Validates an ID token"
  public static let explanation =
    "Checks encoding, header and algorithm, choice of key, signature and claims, in this order. A token that is not valid is a result with the first failing check; an error means that it could not be decided."
  public static let resultSummary = "The verdict"
  public static let errors = RPCErrorCode.keySources

  /// How the token was obtained.
  public enum Flow: String, SchemaEnumeration, Sendable {
    case code, implicit, hybrid, refresh
  }

  public struct Params: RPCObject, IssuerReference {
    public var idToken: String
    public var issuer: String?
    public var expectedIssuer: String?
    public var clientId: String?
    public var jwks: JSONValue?
    public var jwksUrl: String?
    public var nonce: String?
    public var authorizationCode: String?
    public var accessToken: String?
    public var state: String?
    public var maxAge: Int?
    public var acrValues: [String]?
    public var trustedAudiences: [String]?
    public var algorithms: [String]?
    public var clockSkewSeconds: Int?
    public var now: Double?
    public var requireAzp: Bool?
    public var flow: Flow?
    public var previousIdToken: String?

    public static let memberDocs = IssuerReferenceDocs.with([
      "idToken": "The token",
      "clientId": "The client that the token must be for; default: the configured issuer's client",
      "nonce": "The nonce of the authorization request; then it must be there and equal",
      "authorizationCode": "Compared with c_hash",
      "accessToken": "Compared with at_hash",
      "state": "Compared with s_hash",
      "maxAge": "How many seconds ago the user may have authenticated at most; requires auth_time",
      "acrValues": "Authentication contexts of which acr must be one",
      "trustedAudiences": "Audiences that the token may have in addition to the client; default: the issuer's",
      "algorithms": "Signature algorithms; may only narrow what is allowed anyway",
      "clockSkewSeconds": "How far clocks may differ, at most 300; default: the issuer's, else 30",
      "now": "Seconds since the epoch to judge by; only where development.callerClock is on",
      "requireAzp": "Whether a token with several audiences must have azp; default: the issuer's",
      "flow": "How the token was obtained; default code",
      "previousIdToken": "With flow refresh, and only there: the ID token before it",
    ])
  }

  public typealias Result = TokenVerdict
}
