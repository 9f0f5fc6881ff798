public import PosternJSON
public import PosternSupport
public import Sessions

/// The outcome of one call for a journey.
public enum JourneyOutcome: Sendable {
  /// A step with callbacks for the user.
  case callbacks(JourneyStep)
  /// The journey is completed.
  case completed(JourneyEnd)
  /// The access manager rejected the login.
  case failed(JourneyFailure)
}

/// A step: callbacks for the user.
public struct JourneyStep: Sendable {
  /// The continuation of the journey, valid once.
  public let continuation: String
  /// The access manager's own JSON, unchanged.
  public let callbacks: [JSONValue]
  /// The page's name in the tree.
  public let stage: String?
  /// The page's heading.
  public let header: String?
  /// The page's text.
  public let description: String?
  /// The expiry of the continuation.
  public let expiresAt: Timestamp
}

/// The result of a completed journey.
public struct JourneyEnd: Sendable {
  /// The confirmed transaction, as far as it is known: only the resource decides whether it counts.
  public internal(set) var txId: String?
  /// The session; nil where none was requested, or the access manager's tree ends without one.
  public let session: SessionHandle?
  /// Whether the session has new tokens.
  public internal(set) var isUpgraded: Bool
  /// The request's tag.
  public var tag: String?
}

/// The access manager's rejection.
public struct JourneyFailure: Sendable {
  /// Its code, that of the HTTP status.
  public let code: Int64
  /// Its message.
  public let message: String
  /// Its further details.
  public let detail: JSONValue?
}

extension JourneyOutcome: ConciseStringConvertible {
  /// The step, the end or the rejection.
  public var description: String {
    switch self {
    case .callbacks(let step): step.debugDescription
    case .completed(let end): "\(end)"
    case .failed(let failure): "\(failure)"
    }
  }
}

extension JourneyStep: CustomDebugStringConvertible, CustomReflectable {
  /// The types of its callbacks: never the continuation.
  public var debugDescription: String {
    let types = callbacks.map { $0["type"]?.stringValue ?? "callback" }
    return Concise.text(
      "step", stage.map { "stage \(Concise.name($0))" }, Concise.list(types, of: "callback"), "expires \(expiresAt)")
  }
  /// Without children, as those of `ConciseStringConvertible`, which a member of the name `description` rules out.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension JourneyEnd: ConciseStringConvertible {
  /// Whether there is a session: never the transaction.
  public var description: String {
    Concise.text("completed", session.map { "session \($0)" }, isUpgraded ? "with new tokens" : nil)
  }
}

extension JourneyFailure: ConciseStringConvertible {
  /// Code and message.
  public var description: String { "rejected with \(code): \(Concise.name(message))" }
}
