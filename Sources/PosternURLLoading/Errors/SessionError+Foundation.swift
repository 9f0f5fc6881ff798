public import AuthEngine
import Foundation
import HTTPMessages

extension SessionError: FoundationError {
  /// By its kind.
  public var numberedCode: NumberedErrorCode {
    switch kind {
    case .notFound: .sessionNotFound
    case .expired: .sessionExpired
    case .tokenEndpoint: .tokenEndpointError
    case .unreachable(let error): error.isAnswered ? .tokenEndpointError : .tokenEndpointUnreachable
    case .authorizationFailed: .authorizationFailed
    case .adviceRequired: .adviceRequired
    case .stateUnknown: .stateUnknown
    case .store: .storeUnavailable
    case .issuerUnknown: .issuerUnknown
    case .grantNotSupported: .grantNotSupported
    case .sharedToken: .peerForbidden
    case .pending: .authorizationPending
    case .overloaded, .noCapacity: .overloaded
    case .invalid: .invalidRequest
    case .cancelled: .requestCancelled
    case .deadlineExceeded: .deadlineExceeded
    }
  }
  /// Its detail.
  public var explanation: String { detail }
  /// The token endpoint's status and code, and the delay before a retry.
  public var facts: PosternErrorFacts {
    var facts = PosternErrorFacts(upstreamCode: upstreamCode)
    switch kind {
    case .tokenEndpoint(let error), .unreachable(let error): facts.take(error)
    case .store(let error): facts.retryAfter = error.retryAfter
    case .pending(let wait): facts.retryAfter = wait
    case .overloaded(let wait): facts.retryAfter = wait
    case .invalid(let path): facts.path = path.jsonPointer
    case .cancelled, .deadlineExceeded, .notFound, .expired, .authorizationFailed, .adviceRequired, .stateUnknown,
      .issuerUnknown, .grantNotSupported, .sharedToken, .noCapacity:
      break
    }
    facts.isRetryable = isRetryable
    return facts
  }
}

extension StoreError: FoundationError {
  /// `store_unavailable`.
  public var numberedCode: NumberedErrorCode { .storeUnavailable }
  /// Its kind and detail.
  public var explanation: String { description }
  /// Whether the same call may succeed later.
  public var facts: PosternErrorFacts {
    var facts = PosternErrorFacts(isRetryable: isRetryable)
    facts.retryAfter = retryAfter
    return facts
  }
}
