public import PosternJSONRPC

/// `getSession`: what is known of a session.
public enum GetSession: RPCMethod {
  public static let name = "getSession"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Shows a session"
  public static let resultSummary = "The session"
  public static let errors: [RPCErrorCode] = [.sessionNotFound, .storeUnavailable]

  public struct Params: RPCObject {
    public var session: String

    public static let memberDocs = [
      "session": "The session's handle"
    ]
  }

  public typealias Result = SessionDescription
}
