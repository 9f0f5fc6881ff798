public import PosternJSONRPC

/// `getTask`.
public enum GetTask: RPCMethod {
  public static let name = "getTask"
  public static let bounds: PeerBounds = .resources
  public static let summary = "Shows a task"
  public static let explanation =
    "A task belongs to its caller's uid, on whatever connection. A task that has ended is known for a minute."
  public static let resultSummary = "The task as it is now"
  public static let errors: [RPCErrorCode] = [.taskNotFound]
  public typealias Params = TaskName
  public typealias Result = TaskDescription
}
