public import HTTPMessages
import OAuthClient
public import Sessions

/// Why a journey could not be begun or gone on with.
public struct JourneyError: Error, Sendable {
  /// The kinds of fault.
  public enum Kind: Sendable {
    /// None of the advices is one that a user can satisfy.
    case adviceNotRecognised
    /// No journey of that continuation waits for this peer: it expired, was used, or is another's.
    case continuationUnknown
    /// The access manager has ended the journey: it took too long.
    case timedOut
    /// The access manager cannot be reached.
    case unreachable(TransportError.Outcome)
    /// The access manager's answer is an error, or is none that makes sense. With the status and its `errorCode`.
    case accessManager(status: Int?, code: String?)
    /// What was to be made of the login could not be made.
    case session(SessionError)
    /// Too many journeys wait.
    case overloaded(retryAfter: Duration)
    /// The caller's own input; `path` points into it.
    case invalid(path: String)
    /// The caller's deadline passed.
    case deadlineExceeded
    /// The caller cancelled.
    case cancelled
  }

  /// The kind of fault.
  public let kind: Kind
  /// For people and logs; holds no token, no handle and nothing that a user typed in.
  public let detail: String
  /// Whether nothing of the step has gone anywhere: its continuation is as good as it was.
  private(set) var keepsStep = false

  init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }

  /// What went wrong with a session.
  init(_ error: SessionError) {
    switch error.kind {
    case .cancelled: self.init(.cancelled, error.detail)
    case .deadlineExceeded: self.init(.deadlineExceeded, error.detail)
    default: self.init(.session(error), error.detail)
    }
  }

  /// What went wrong with a request to the access manager.
  init(_ error: TokenError) {
    switch error.kind {
    case .unreachable(let transport): self.init(.unreachable(transport.outcome), error.detail)
    case .cancelled: self.init(.cancelled, error.detail)
    case .deadlineExceeded: self.init(.deadlineExceeded, error.detail)
    default: self.init(.accessManager(status: error.status, code: nil), error.detail)
    }
  }

  static func grantNotSupported(_ detail: String) -> JourneyError {
    JourneyError(SessionError.grantNotSupported(detail))
  }

  static func issuerUnknown(_ detail: String) -> JourneyError { JourneyError(SessionError.issuerUnknown(detail)) }

  /// The same, as one that came up before anything was sent, or not.
  func keepingStep(_ keepsStep: Bool = true) -> JourneyError {
    var error = self
    error.keepsStep = keepsStep
    return error
  }

  /// No such journey, for this peer.
  public static let continuationUnknown = JourneyError(
    .continuationUnknown, "no journey of that continuation waits for this peer")
}

extension JourneyError: CustomStringConvertible {
  /// The detail.
  public var description: String { detail }
}
