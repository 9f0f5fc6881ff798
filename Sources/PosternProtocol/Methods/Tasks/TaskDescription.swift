/// Which task a call means.
public struct TaskName: RPCObject {
  public var task: String

  public static let memberDocs = [
    "task": "The task's name"
  ]
}

/// A task as its owner sees it.
public struct TaskDescription: RPCObject {
  /// The state of a task.
  public enum State: String, SchemaEnumeration, Sendable {
    case running, suspended, cancelled, completed
  }

  public var task: String
  public var state: State
  public var method: String
  public var url: String
  public var startedAt: String
  public var receivedBytes: Int64
  public var sentBytes: Int64

  /// A description of the given parts.
  public init(
    task: String, state: State, method: String, url: String, startedAt: String, receivedBytes: Int64, sentBytes: Int64
  ) {
    self.task = task
    self.state = state
    self.method = method
    self.url = url
    self.startedAt = startedAt
    self.receivedBytes = receivedBytes
    self.sentBytes = sentBytes
  }

  public static let memberDocs = [
    "task": "The task's name",
    "state": "running, suspended, cancelled or completed",
    "method": "The request's method",
    "url": "The URL of the first request",
    "startedAt": "When it began",
    "receivedBytes": "Bytes of bodies that have come in, content codings undone",
    "sentBytes": "Bytes of bodies that have gone out",
  ]
}
