public import PosternJSON
public import PosternJSONRPC

/// `validateAccessToken`: JWT access tokens by RFC 9068.
public enum ValidateAccessToken: RPCMethod {
  public static let name = "validateAccessToken"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Validates a JWT access token (RFC 9068)"
  public static let explanation =
    "The token's typ must be at+jwt, so that no ID token passes. A token that is bound to a key (cnf) is not valid unless confirmation names the key whose possession was shown."
  public static let resultSummary = "The verdict"
  public static let errors = RPCErrorCode.keySources

  /// The key whose possession the presenter has shown; exactly one member.
  public struct Confirmation: RPCObject {
    public var jkt: String?
    public var x5tS256: String?

    public static let memberDocs = [
      "jkt": "Thumbprint of the DPoP proof's key (RFC 9449 section 6.1)",
      "x5tS256": "SHA-256 thumbprint of the client certificate, base64url (RFC 8705 section 3.1)",
    ]
  }

  public struct Params: RPCObject, IssuerReference {
    public var accessToken: String
    public var issuer: String?
    public var expectedIssuer: String?
    public var clientId: String?
    public var jwks: JSONValue?
    public var jwksUrl: String?
    public var audience: String
    public var requiredScopes: [String]?
    public var confirmation: Confirmation?
    public var clockSkewSeconds: Int?
    public var now: Double?

    public static let memberDocs = IssuerReferenceDocs.with([
      "accessToken": "The token",
      "audience": "The resource the token must be for",
      "requiredScopes": "Scopes that must all be granted; insufficient_scope otherwise",
      "clientId": "The client that presents the token, where it is known",
      "confirmation": "The key whose possession the presenter has shown",
      "clockSkewSeconds": "How far clocks may differ, at most 300; default: the issuer's, else 30",
      "now": "Seconds since the epoch to judge by; only where development.callerClock is on",
    ])
  }

  public typealias Result = TokenVerdict
}
