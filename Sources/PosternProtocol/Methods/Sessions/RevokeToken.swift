public import PosternJSONRPC

/// `revokeToken`: revokes a token at its issuer.
public enum RevokeToken: RPCMethod {
  public static let name = "revokeToken"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Revokes a token at its issuer (RFC 7009)"
  public static let explanation =
    """
    Either a session, whose refresh token (or else access token) is revoked, or a token with its issuer. Rejected (peer_forbidden) for \
    the sidecar's own tokens (client credentials), which its users share.
    """
  public static let resultSummary = "true"
  public static let errors: [RPCErrorCode] = [
    .sessionNotFound, .sessionExpired, .tokenEndpointError, .tokenEndpointUnreachable, .storeUnavailable,
    .sessionIssuerUnknown, .grantNotSupported,
  ]

  public struct Params: RPCObject {
    public var session: String?
    public var issuer: String?
    public var token: String?
    public var tokenTypeHint: String?

    public static let memberDocs = [
      "session": "A session's handle; excludes the others",
      "issuer": "A configured issuer's name",
      "token": "The token",
      "tokenTypeHint": "access_token or refresh_token, passed on",
    ]
  }

  public struct Result: RPCObject {
    public var revoked: Bool

    /// A result of the given parts.
    public init(revoked: Bool) { self.revoked = revoked }

    public static let memberDocs = ["revoked": "true"]
  }
}
