public import JSONRPC

/// `listTasks`.
public enum ListTasks: RPCMethod {
  public static let name = "listTasks"
  public static let summary = "Lists the caller's tasks"
  public static let explanation = "Those of the caller's uid, on whatever connection, the oldest first."
  public static let resultSummary = "The tasks"
  public static let errors: [RPCErrorCode] = []

  public typealias Params = NoParams

  public struct Result: RPCObject {
    public var tasks: [TaskDescription]

    /// The given tasks.
    public init(tasks: [TaskDescription]) { self.tasks = tasks }

    public static let memberDocs = [
      "tasks": "The tasks"
    ]
  }
}
