public import JSONRPC

/// `listSessions`: the caller's sessions.
public enum ListSessions: RPCMethod {
  public static let name = "listSessions"
  public static let summary = "Lists the sessions of the caller's user id"
  public static let resultSummary = "The sessions, the oldest first"
  public static let errors: [RPCErrorCode] = [.storeUnavailable]

  public typealias Params = NoParams

  public struct Result: RPCObject {
    public var sessions: [SessionDescription]

    /// A result of the given parts.
    public init(sessions: [SessionDescription]) { self.sessions = sessions }

    public static let memberDocs = ["sessions": "The sessions"]
  }
}
