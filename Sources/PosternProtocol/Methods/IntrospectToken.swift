public import PosternJSON
public import PosternJSONRPC

/// `introspectToken`: the authorization server's own word on a token.
public enum IntrospectToken: RPCMethod {
  public static let name = "introspectToken"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Checks at the issuer whether a token is active (RFC 7662)"
  public static let explanation =
    "The answer may be signed (RFC 9701). It is requested again each time, so that a revocation is seen at once; calls at the same time share one request."
  public static let resultSummary = "The verdict"
  public static let errors: [RPCErrorCode] = [
    .jwksFetchFailed, .discoveryFailed, .discoveryIssuerMismatch, .jwksInvalid, .issuerUnknown, .introspectionFailed,
  ]

  public struct Params: RPCObject {
    public var token: String
    public var issuer: String
    public var tokenTypeHint: String?
    public var audience: String?
    public var requiredScopes: [String]?

    public static let memberDocs = [
      "token": "The token",
      "issuer": "A configured issuer's name",
      "tokenTypeHint": "access_token or refresh_token, passed on",
      "audience": "The expected audience",
      "requiredScopes": "Scopes that must all be granted; insufficient_scope otherwise",
    ]
  }

  public struct Result: RPCObject {
    public var valid: Bool
    public var claims: JSONValue?
    public var error: TokenViolation?

    public static let memberDocs = [
      "valid": "Whether the token is active and meets every requirement",
      "claims": "The members of the issuer's answer; only when valid",
      "error": "Why it is not valid; only when it is not",
    ]
  }
}
