public import OAuthClient
public import PosternSupport
public import Sessions

/// The reason why a journey could not be started or continued.
public struct JourneyError: Error, Sendable {
  /// The kinds of fault.
  public enum Kind: Sendable {
    /// None of the advices is one that a user can satisfy.
    case adviceNotRecognised
    /// No journey of that continuation waits for this peer: it expired, was used, or belongs to another peer.
    case continuationUnknown
    /// The access manager has ended the journey: it took too long.
    case timedOut
    /// The access manager cannot be reached.
    case unreachable(TokenError)
    /// The access manager's answer is an error or malformed, with its status and its `errorCode`.
    case accessManager(status: Int?, code: String?)
    /// The session of the login could not be made.
    case session(SessionError)
    /// Too many journeys wait.
    case overloaded(retryAfter: Duration)
    /// A parameter of the caller's is not valid; `path` names it.
    case invalid(path: ParameterPath)
    /// The caller's deadline passed.
    case deadlineExceeded
    /// The caller cancelled.
    case cancelled

    /// The code of an error of this kind.
    public var code: ErrorCode {
      switch self {
      case .adviceNotRecognised: .adviceNotRecognised
      case .continuationUnknown: .continuationUnknown
      case .timedOut: .authenticationTimedOut
      case .unreachable: .accessManagerUnreachable
      case .accessManager: .accessManagerError
      case .session(let error): error.kind.code
      case .overloaded: .overloaded
      case .invalid: .invalidParams
      case .deadlineExceeded: .deadlineExceeded
      case .cancelled: .requestCancelled
      }
    }
  }

  /// The kind of fault.
  public let kind: Kind
  /// For people and logs; without tokens, handles and a user's input.
  public let detail: String
  /// Whether nothing of the step has been sent, so that its continuation remains valid.
  private(set) var keepsStep = false

  package init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }

  /// Converts an error of a session.
  package init(_ error: SessionError) {
    switch error.kind {
    case .cancelled: self.init(.cancelled, error.detail)
    case .deadlineExceeded: self.init(.deadlineExceeded, error.detail)
    case .notFound, .expired, .tokenEndpoint, .unreachable, .authorizationFailed, .adviceRequired, .stateUnknown,
      .store,
      .issuerUnknown, .grantNotSupported, .sharedToken, .pending, .overloaded, .noCapacity, .invalid:
      self.init(.session(error), error.detail)
    }
  }

  /// Converts an error of a request to the access manager.
  init(_ error: TokenError) {
    switch error.kind {
    case .unreachable: self.init(.unreachable(error), error.detail)
    case .cancelled: self.init(.cancelled, error.detail)
    case .deadlineExceeded: self.init(.deadlineExceeded, error.detail)
    case .rejected, .unavailable, .malformed, .discovery, .notPossible, .assertion:
      self.init(.accessManager(status: error.status, code: nil), error.detail)
    }
  }

  static func grantNotSupported(_ detail: String) -> JourneyError {
    JourneyError(SessionError.grantNotSupported(detail))
  }

  static func issuerUnknown(_ detail: String) -> JourneyError { JourneyError(SessionError.issuerUnknown(detail)) }

  /// Returns the same error, marked as one before anything was sent, or not.
  func keepingStep(_ keepsStep: Bool = true) -> JourneyError {
    var error = self
    error.keepsStep = keepsStep
    return error
  }

  /// The error for a journey that this peer does not have.
  public static let continuationUnknown = JourneyError(
    .continuationUnknown, "no journey of that continuation waits for this peer")
}

extension JourneyError: ConciseStringConvertible {
  /// `reason: detail`.
  public var description: String { "\(kind): \(detail)" }
}

extension JourneyError.Kind: ConciseStringConvertible {
  /// The reason.
  public var description: String { code.reason }
}
