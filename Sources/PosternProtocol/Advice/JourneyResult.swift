public import PosternJSON

/// How far a journey has come: the result of `authenticate` and `authenticateWithAdvice`.
public struct JourneyResult: RPCObject {
  /// The state of a journey.
  public enum State: String, SchemaEnumeration, Sendable {
    case callbacks, completed, failed
  }

  /// The access manager's rejection.
  public struct Failure: RPCObject {
    public var code: Int64
    public var message: String
    public var detail: JSONValue?

    /// A rejection of the given parts.
    public init(code: Int64, message: String, detail: JSONValue?) {
      self.code = code
      self.message = message
      self.detail = detail
    }

    public static let memberDocs = [
      "code": "The access manager's code, that of the HTTP status",
      "message": "The access manager's message",
      "detail": "Further details from it",
    ]
  }

  public var state: State
  public var continuation: String?
  public var callbacks: [JSONValue]?
  public var stage: String?
  public var header: String?
  public var description: String?
  public var expiresAt: String?
  public var txId: String?
  public var session: String?
  public var sessionUpgraded: Bool?
  public var error: Failure?

  /// A result; the rest is set one by one.
  public init(_ state: State) { self.state = state }

  public static let memberDocs = [
    "state": "callbacks: the user has to answer; completed: it is over; failed: the access manager rejected it",
    "continuation":
      "With callbacks: one-time value for the next call. With completed: the suspended fetch's; pass it to fetchResource",
    "callbacks": "The questions to the user: the access manager's own JSON, unchanged",
    "stage": "The name that the tree gives the page",
    "header": "The page's heading",
    "description": "The page's text",
    "expiresAt": "When the continuation expires",
    "txId": "The transaction that the journey was about; only the resource shows whether it was confirmed",
    "session": "The session's handle, with completed; not with noSession",
    "sessionUpgraded": "Whether the session has new tokens; with completed",
    "error": "The rejection, with failed",
  ]
}
