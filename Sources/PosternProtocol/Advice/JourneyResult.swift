public import PosternJSON

/// How far a journey has come: the result of `authenticate` and `authenticateWithAdvice`.
public struct JourneyResult: RPCObject {
  /// What there is.
  public enum State: String, SchemaEnumeration, Sendable {
    case callbacks, completed, failed
  }

  /// The access manager's refusal.
  public struct Failure: RPCObject {
    public var code: Int64
    public var message: String
    public var detail: JSONValue?

    /// A refusal of the given parts.
    public init(code: Int64, message: String, detail: JSONValue?) {
      self.code = code
      self.message = message
      self.detail = detail
    }

    public static let memberDocs = [
      "code": "Its code, that of the HTTP status",
      "message": "Its words",
      "detail": "What else it told",
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
    "state": "callbacks: the user is asked; completed: it is over; failed: the access manager said no",
    "continuation":
      "With callbacks: takes the journey on, once. With completed: of a fetch that waits, for fetchResource",
    "callbacks": "What is asked: the access manager's own JSON, untouched",
    "stage": "The name that the tree gives the page",
    "header": "The page's heading",
    "description": "The page's text",
    "expiresAt": "Until when the continuation is good",
    "txId": "The transaction that the journey was about; whether it was confirmed only the resource tells",
    "session": "The session's handle, with completed; not with noSession",
    "sessionUpgraded": "Whether the session has new tokens now; with completed",
    "error": "The refusal, with failed",
  ]
}
