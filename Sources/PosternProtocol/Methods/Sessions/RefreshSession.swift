public import PosternJSONRPC

/// `refreshSession`: refreshes a session's tokens now.
public enum RefreshSession: RPCMethod {
  public static let name = "refreshSession"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Refreshes a session's tokens now"
  public static let resultSummary = "The session"
  public static let errors: [RPCErrorCode] = [
    .sessionNotFound, .sessionExpired, .tokenEndpointError, .tokenEndpointUnreachable, .storeUnavailable,
    .sessionIssuerUnknown, .grantNotSupported, .adviceRequired,
  ]

  public struct Params: RPCObject {
    public var session: String

    public static let memberDocs = [
      "session": "The session's handle"
    ]
  }

  public typealias Result = SessionDescription
}
