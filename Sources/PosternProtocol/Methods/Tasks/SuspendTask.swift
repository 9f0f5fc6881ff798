public import PosternJSONRPC

/// `suspendTask`.
public enum SuspendTask: RPCMethod {
  public static let name = "suspendTask"
  public static let bounds: PeerBounds = .resources
  public static let summary = "Suspends a running task"
  public static let explanation =
    "No bytes move while it is suspended, and timeoutMs is paused. Only a running task is suspended; any other stays as it is."
  public static let resultSummary = "The task as it is now"
  public static let errors: [RPCErrorCode] = [.taskNotFound]
  public typealias Params = TaskName
  public typealias Result = TaskDescription
}
