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

/// `resumeTask`.
public enum ResumeTask: RPCMethod {
  public static let name = "resumeTask"
  public static let bounds: PeerBounds = .resources
  public static let summary = "Resumes a suspended task"
  public static let explanation =
    "Only a suspended task is resumed; any other stays as it is."
  public static let resultSummary = "The task as it is now"
  public static let errors: [RPCErrorCode] = [.taskNotFound]
  public typealias Params = TaskName
  public typealias Result = TaskDescription
}

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
