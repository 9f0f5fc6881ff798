public import PosternJSON
public import PosternSupport
public import Sessions

/// How far a journey has come.
public enum JourneyOutcome: Sendable {
  /// The user is asked something.
  case callbacks(JourneyStep)
  /// The journey is over.
  case completed(JourneyEnd)
  /// The access manager said no.
  case failed(JourneyFailure)
}

/// What the user is asked.
public struct JourneyStep: Sendable {
  /// Takes the journey on, once.
  public let continuation: String
  /// The access manager's own JSON, untouched.
  public let callbacks: [JSONValue]
  /// The name that the tree gives the page.
  public let stage: String?
  /// The page's heading.
  public let header: String?
  /// The page's text.
  public let description: String?
  /// Until when the continuation is good.
  public let expiresAt: Timestamp
}

/// What came of a journey that is over.
public struct JourneyEnd: Sendable {
  /// The transaction that was confirmed, as far as the access manager lets one know: only the resource tells.
  public let txId: String?
  /// The session; nil where none was asked for.
  public let session: SessionHandle?
  /// Whether the session has new tokens now.
  public let isUpgraded: Bool
  /// The request's tag.
  public var tag: String?
}

/// The access manager's refusal.
public struct JourneyFailure: Sendable {
  /// Its code, that of the HTTP status.
  public let code: Int64
  /// Its words.
  public let message: String
  /// What else it told.
  public let detail: JSONValue?
}
