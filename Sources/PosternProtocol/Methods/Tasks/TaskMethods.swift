public import AuthEngine
public import PosternSupport

/// `listTasks`.
public enum ListTasks: RPCMethod {
  public static let name = "listTasks"
  public static let bounds: PeerBounds = .resources
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = [.needsNoSlot, .needsNoApproval]
  public static let summary = "Lists the caller's tasks"
  public static let explanation =
    "A page of those of the caller's uid, of any state or one, on whatever connection: first those that run, then those that have ended, the newest first; and where the next page begins. Through an endpoint: those that were begun through it, or below."
  public static let resultSummary = "The tasks"
  public static let errors: [ErrorCode] = []

  public struct Params: RPCObject {
    public var state: NetworkTask.State?
    public var limit: Int?
    public var cursor: String?

    public static let memberDocs = PageParams.memberDocs.merging([
      "state": "Only tasks that are in this state when the page is made; default: in any state"
    ]) { own, _ in own }

    /// The part of the list that is requested.
    public var page: PageParams {
      var page = PageParams()
      (page.limit, page.cursor) = (limit, cursor)
      return page
    }
  }

  public struct Result: PageResult {
    public let tasks: [PageEntry<TaskDescription>]
    public let nextCursor: String?

    public static let member: StaticString = "tasks"
    public var entries: [PageEntry<TaskDescription>] { tasks }

    public init(_ entries: [PageEntry<TaskDescription>], nextCursor: String?) {
      tasks = entries
      self.nextCursor = nextCursor
    }

    public static let memberDocs = [
      "tasks": "The tasks",
      "nextCursor": "Where the next page begins; left out when there is none",
    ]
  }
}

/// `getTask`.
public enum GetTask: RPCMethod {
  public static let name = "getTask"
  public static let bounds: PeerBounds = .resources
  public static let chain: ChainRule = .checked
  public static let summary = "Shows a task"
  public static let explanation =
    "A task belongs to its caller's uid, on whatever connection, and to the endpoint that it was begun through: each has names of its own. One of an endpoint below is found where there is none of that name here. A task that has ended is known for a minute."
  public static let resultSummary = "The task as it is now"
  public static let errors: [ErrorCode] = [.taskNotFound]
  public typealias Params = TaskName
  public typealias Result = TaskDescription
}

/// `suspendTask`.
public enum SuspendTask: RPCMethod {
  public static let name = "suspendTask"
  public static let bounds: PeerBounds = .resources
  public static let chain: ChainRule = .checked
  public static let summary = "Suspends a running task"
  public static let explanation =
    "No bytes move while it is suspended, and timeoutMs is paused. Only a running task is suspended; any other stays as it is."
  public static let resultSummary = "The task as it is now"
  public static let errors: [ErrorCode] = [.taskNotFound]
  public typealias Params = TaskName
  public typealias Result = TaskDescription
}

/// `resumeTask`.
public enum ResumeTask: RPCMethod {
  public static let name = "resumeTask"
  public static let bounds: PeerBounds = .resources
  public static let chain: ChainRule = .checked
  public static let summary = "Resumes a suspended task"
  public static let explanation =
    "Only a suspended task is resumed; any other stays as it is."
  public static let resultSummary = "The task as it is now"
  public static let errors: [ErrorCode] = [.taskNotFound]
  public typealias Params = TaskName
  public typealias Result = TaskDescription
}

/// `cancelTask`.
public enum CancelTask: RPCMethod {
  public static let name = "cancelTask"
  public static let bounds: PeerBounds = .resources
  public static let chain: ChainRule = .checked
  public static let summary = "Ends a task"
  public static let explanation =
    "The call that began it ends with request_cancelled, exactly once; a task that has ended before stays as it is."
  public static let resultSummary = "The task as it is now"
  public static let errors: [ErrorCode] = [.taskNotFound]
  public typealias Params = TaskName
  public typealias Result = TaskDescription
}

/// Which task a call means.
public struct TaskName: RPCObject {
  public var task: String

  public static let memberDocs = [
    "task": "The task's name"
  ]
}

/// A task as its owner sees it.
public struct TaskDescription: RPCObject {
  public var task: String
  public var state: NetworkTask.State
  public var method: String
  public var url: String
  public var startedAt: String
  public var receivedBytes: Int64
  public var sentBytes: Int64

  /// A description of the given parts.
  public init(
    task: String, state: NetworkTask.State, method: String, url: String, startedAt: String, receivedBytes: Int64,
    sentBytes: Int64
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
