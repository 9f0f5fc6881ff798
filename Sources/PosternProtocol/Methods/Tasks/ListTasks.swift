public import PosternJSONRPC

/// `listTasks`.
public enum ListTasks: RPCMethod {
  public static let name = "listTasks"
  public static let bounds: PeerBounds = .resources
  public static let summary = "Lists the caller's tasks"
  public static let explanation =
    "A page of those of the caller's uid, on whatever connection, the oldest first; and where the next page begins."
  public static let resultSummary = "The tasks"
  public static let errors: [RPCErrorCode] = []

  public typealias Params = PageParams

  public struct Result: RPCObject {
    public var tasks: [TaskDescription]
    public var nextCursor: String?

    public static let memberDocs = [
      "tasks": "The tasks",
      "nextCursor": "Where the next page begins; left out when there is none",
    ]
  }
}
