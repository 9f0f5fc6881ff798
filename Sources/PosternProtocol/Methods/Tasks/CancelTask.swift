public import PosternJSONRPC

/// `cancelTask`.
public enum CancelTask: RPCMethod {
  public static let name = "cancelTask"
  public static let bounds: PeerBounds = .resources
  public static let summary = "Ends a task"
  public static let explanation =
    "The call that began it ends with request_cancelled, exactly once; a task that has ended before stays as it is."
  public static let resultSummary = "The task as it is now"
  public static let errors: [RPCErrorCode] = [.taskNotFound]
  public typealias Params = TaskName
  public typealias Result = TaskDescription
}
