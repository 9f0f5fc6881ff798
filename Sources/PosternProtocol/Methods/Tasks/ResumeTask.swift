public import PosternJSONRPC

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
