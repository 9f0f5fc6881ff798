public import AuthEngine
import Foundation
import HTTPMessages

extension TokenError: FoundationError {
  /// By its kind.
  public var numberedCode: NumberedErrorCode {
    switch kind {
    case .rejected, .malformed, .unavailable, .assertion: .tokenEndpointError
    case .unreachable: .tokenEndpointUnreachable
    case .discovery(let error): error.numberedCode
    case .notPossible: .grantNotSupported
    case .cancelled: .requestCancelled
    case .deadlineExceeded: .deadlineExceeded
    }
  }
  /// Its detail.
  public var explanation: String { detail }
  /// The token endpoint's status and code, and the delay before a retry.
  public var facts: PosternErrorFacts {
    var facts = PosternErrorFacts()
    facts.take(self)
    return facts
  }
}

extension PosternErrorFacts {
  /// The values of `error`.
  mutating func take(_ error: TokenError) {
    outcome = error.outcome
    retryAfter = error.retryAfter
    upstreamStatus = error.status ?? upstreamStatus
    upstreamCode = error.upstreamCode ?? upstreamCode
    if case .discovery(let failure) = error.kind { upstreamStatus = failure.status ?? upstreamStatus }
    isRetryable = error.isRetryable
  }
}
