public import AuthEngine
import Foundation
import HTTPMessages

extension JourneyError: FoundationError {
  /// By its kind.
  public var numberedCode: NumberedErrorCode {
    switch kind {
    case .adviceNotRecognised: .adviceNotRecognised
    case .continuationUnknown: .continuationUnknown
    case .timedOut: .authenticationTimedOut
    case .unreachable: .accessManagerUnreachable
    case .accessManager: .accessManagerError
    case .session(let error): error.numberedCode
    case .overloaded: .overloaded
    case .invalid: .invalidRequest
    case .deadlineExceeded: .deadlineExceeded
    case .cancelled: .requestCancelled
    }
  }
  /// Its detail.
  public var explanation: String { detail }
  /// The access manager's status and code, and the delay before a retry.
  public var facts: PosternErrorFacts {
    switch kind {
    case .adviceNotRecognised, .timedOut: PosternErrorFacts(isRetryable: false)
    case .continuationUnknown: PosternErrorFacts(path: "/continuation")
    case .unreachable(let error): PosternErrorFacts(outcome: error.outcome, isRetryable: error.isRetryable)
    case .accessManager(let status, let code):
      PosternErrorFacts(isRetryable: (status ?? 0) >= 500, upstreamStatus: status, upstreamCode: code)
    case .session(let error): error.facts
    case .overloaded(let wait): PosternErrorFacts(isRetryable: true, retryAfter: wait)
    case .invalid(let path): PosternErrorFacts(path: path.jsonPointer)
    case .deadlineExceeded: PosternErrorFacts(isRetryable: true)
    case .cancelled: PosternErrorFacts()
    }
  }
}
