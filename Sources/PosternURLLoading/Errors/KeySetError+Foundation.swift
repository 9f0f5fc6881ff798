public import AuthEngine
import Foundation
import HTTPMessages

extension KeySetError: FoundationError {
  /// By its kind.
  public var numberedCode: NumberedErrorCode {
    switch kind {
    case .fetchFailed: .jwksFetchFailed
    case .discoveryFailed: .discoveryFailed
    case .discoveryIssuerMismatch: .discoveryIssuerMismatch
    case .invalid: .jwksInvalid
    case .cancelled: .requestCancelled
    case .deadlineExceeded: .deadlineExceeded
    }
  }
  /// Its detail.
  public var explanation: String { detail }
  /// The server's status, and the delay before a retry.
  public var facts: PosternErrorFacts {
    PosternErrorFacts(
      isRetryable: kind == .cancelled ? nil : isRetryable || kind == .deadlineExceeded, retryAfter: retryAfter,
      upstreamStatus: status)
  }
}

extension DiscoveryError: FoundationError {
  /// By its kind.
  public var numberedCode: NumberedErrorCode {
    switch kind {
    case .failed: .discoveryFailed
    case .issuerMismatch: .discoveryIssuerMismatch
    }
  }
  /// Its detail.
  public var explanation: String { detail }
  /// The server's status.
  public var facts: PosternErrorFacts { PosternErrorFacts(isRetryable: isRetryable, upstreamStatus: status) }
}

extension IntrospectionError: FoundationError {
  /// By the step that failed.
  public var numberedCode: NumberedErrorCode {
    switch self {
    case .undecided(let error): error.numberedCode
    case .malformed, .unverified: .introspectionFailed
    case .unanswered(let error):
      switch error.kind {
      case .cancelled, .deadlineExceeded, .discovery: error.numberedCode
      case .rejected, .unavailable, .unreachable, .malformed, .notPossible, .assertion: .introspectionFailed
      }
    }
  }
  /// The detail of the step that failed.
  public var explanation: String {
    switch self {
    case .undecided(let error): error.explanation
    case .malformed(let detail): detail
    case .unverified(let fault): "the signed introspection response is not the issuer's: \(fault.message)"
    case .unanswered(let error): error.explanation
    }
  }
  /// The authorization server's status and code, and the delay before a retry.
  public var facts: PosternErrorFacts {
    switch self {
    case .undecided(let error): error.facts
    case .malformed: PosternErrorFacts(isRetryable: false)
    case .unverified(let fault): PosternErrorFacts(isRetryable: false, upstreamCode: fault.code.rawValue)
    case .unanswered(let error): error.facts
    }
  }
}
