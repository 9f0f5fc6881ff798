public import PosternJSONRPC

/// `listSessions`: the caller's sessions.
public enum ListSessions: RPCMethod {
  public static let name = "listSessions"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Lists the sessions of the caller's user id"
  public static let explanation =
    "A page of them, and where the next one begins. A session that exists during the whole listing is on exactly one page."
  public static let resultSummary = "The sessions, the oldest first"
  public static let errors: [RPCErrorCode] = [.storeUnavailable]

  public typealias Params = PageParams

  public struct Result: RPCObject {
    public var sessions: [SessionDescription]
    public var nextCursor: String?

    public static let memberDocs = [
      "sessions": "The sessions",
      "nextCursor": "Where the next page begins; left out when there is none",
    ]
  }
}
