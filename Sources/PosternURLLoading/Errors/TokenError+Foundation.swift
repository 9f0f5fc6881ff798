public import AuthEngine
import Foundation
import HTTPMessages

extension TokenError: FoundationError {
  /// By its kind.
  public var numberedCode: ResourceError.Code {
    switch kind {
    case .refused, .malformed: .tokenEndpointError
    case .unavailable, .unreachable: .tokenEndpointUnreachable
    case .discovery(let error): error.numberedCode
    case .notPossible: .grantNotSupported
    case .cancelled: .requestCancelled
    case .deadlineExceeded: .deadlineExceeded
    }
  }
  /// Its detail.
  public var explanation: String { detail }
  /// What the token endpoint said, and when to ask again.
  public var facts: PosternErrorFacts {
    var facts = PosternErrorFacts()
    facts.take(self)
    return facts
  }
}

extension PosternErrorFacts {
  /// What `error` says.
  mutating func take(_ error: TokenError) {
    outcome = error.outcome
    retryAfter = error.retryAfter
    upstreamStatus = error.status ?? upstreamStatus
    upstreamCode = error.oauthError?.code ?? upstreamCode
    switch error.kind {
    case .unavailable, .deadlineExceeded: isRetryable = true
    case .unreachable(let failure): isRetryable = failure.isTransient
    case .discovery(let failure):
      isRetryable = failure.isRetryable
      upstreamStatus = failure.status ?? upstreamStatus
    case .refused, .malformed, .notPossible: isRetryable = false
    case .cancelled: isRetryable = nil
    }
  }
}
