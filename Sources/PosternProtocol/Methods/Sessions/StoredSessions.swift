public import AuthEngine
public import PosternSupport

/// `listSessions`: the caller's sessions.
public enum ListSessions: RPCMethod {
  public static let name = "listSessions"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = .needsNoApproval
  public static let summary = "Lists the sessions of the caller's user id"
  public static let explanation =
    "A page of them, and where the next one begins. A session that exists during the whole listing is on exactly one page."
  public static let resultSummary = "The sessions, the oldest first"
  public static let errors: [ErrorCode] = [.storeUnavailable]

  public typealias Params = PageParams

  public struct Result: PageResult {
    public let sessions: [PageEntry<SessionDescription>]
    public let nextCursor: String?

    public static let member: StaticString = "sessions"
    public var entries: [PageEntry<SessionDescription>] { sessions }

    public init(_ entries: [PageEntry<SessionDescription>], nextCursor: String?) {
      sessions = entries
      self.nextCursor = nextCursor
    }

    public static let memberDocs = [
      "sessions": "The sessions",
      "nextCursor": "Where the next page begins; left out when there is none",
    ]
  }
}

/// `getSession`: what is known of a session.
public enum GetSession: RPCMethod {
  public static let name = "getSession"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = .needsNoApproval
  public static let summary = "Shows a session"
  public static let resultSummary = "The session"
  public static let errors: [ErrorCode] = [.sessionNotFound, .storeUnavailable]

  public struct Params: RPCObject {
    public var session: String

    public static let memberDocs = [
      "session": "The session's handle"
    ]
  }

  public typealias Result = SessionDescription
}

/// `refreshSession`: refreshes a session's tokens now.
public enum RefreshSession: RPCMethod {
  public static let name = "refreshSession"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .checked
  public static let summary = "Refreshes a session's tokens now"
  public static let resultSummary = "The session"
  public static let errors: [ErrorCode] = [
    .notAuthenticated, .sessionNotFound, .sessionExpired, .tokenEndpointError, .tokenEndpointUnreachable,
    .storeUnavailable, .sessionIssuerUnknown, .grantNotSupported, .adviceRequired,
  ]

  public struct Params: RPCObject {
    public var session: String

    public static let memberDocs = [
      "session": "The session's handle"
    ]
  }

  public typealias Result = SessionDescription
}

/// `endSession`: ends a session.
public enum EndSession: RPCMethod {
  public static let name = "endSession"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .checked
  public static let summary = "Ends a session, here at once and then at the issuer"
  public static let explanation =
    "Its tokens are revoked (RFC 7009) and the end of the session is reported to the issuer. Here it is gone even when the network fails."
  public static let resultSummary = "Result of the logout at the issuer"
  public static let errors: [ErrorCode] = [.sessionNotFound, .storeUnavailable]

  public struct Params: RPCObject {
    public var session: String

    public static let memberDocs = [
      "session": "The session's handle"
    ]
  }

  public struct Result: RPCObject {
    public var ended: Bool
    public var upstream: UpstreamEnd

    /// A result of the given parts.
    public init(ended: Bool, upstream: UpstreamEnd) {
      self.ended = ended
      self.upstream = upstream
    }

    public static let memberDocs = [
      "ended": "true: it is gone here",
      "upstream": "ended, failed, or none when there was nothing to end at the issuer",
    ]
  }
}

/// `revokeToken`: revokes a token at its issuer.
public enum RevokeToken: RPCMethod {
  public static let name = "revokeToken"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .checked
  public static let summary = "Revokes a token at its issuer (RFC 7009)"
  public static let explanation =
    """
    Either a session, whose refresh token (or else access token) is revoked, or a token with its issuer. Rejected (peer_forbidden) for \
    the sidecar's own tokens (client credentials), which its users share.
    """
  public static let resultSummary = "true"
  public static let errors: [ErrorCode] = [
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
