public import AuthEngine
import Foundation
import HTTPMessages

extension SessionError: FoundationError {
  /// By its kind.
  public var numberedCode: ResourceError.Code {
    switch kind {
    case .notFound: .sessionNotFound
    case .expired: .sessionExpired
    case .tokenEndpoint: .tokenEndpointError
    case .unreachable: .tokenEndpointUnreachable
    case .authorizationFailed: .authorizationFailed
    case .adviceRequired: .adviceRequired
    case .stateUnknown: .stateUnknown
    case .store: .storeUnavailable
    case .issuerUnknown: .issuerUnknown
    case .grantNotSupported: .grantNotSupported
    case .sharedToken: .peerForbidden
    case .pending: .authorizationPending
    case .overloaded, .noRoom: .overloaded
    case .invalid: .invalidRequest
    case .cancelled: .requestCancelled
    case .deadlineExceeded: .deadlineExceeded
    }
  }
  /// Its detail.
  public var explanation: String { detail }
  /// What the token endpoint said, and when to ask again.
  public var facts: PosternErrorFacts {
    var facts = PosternErrorFacts(isRetryable: false, upstreamCode: upstreamCode)
    switch kind {
    case .tokenEndpoint(let error):
      facts.take(error)
      facts.isRetryable = false
    case .unreachable(let error):
      facts.take(error)
      facts.isRetryable = true
    case .store(let error): (facts.isRetryable, facts.retryAfter) = (error.isRetryable, error.retryAfter)
    case .pending(let wait): (facts.isRetryable, facts.retryAfter) = (true, wait)
    case .overloaded(let wait): (facts.isRetryable, facts.retryAfter) = (wait != nil, wait)
    case .invalid(let path): facts.path = path
    case .cancelled: facts.isRetryable = nil
    case .deadlineExceeded: facts.isRetryable = true
    case .notFound, .expired, .authorizationFailed, .adviceRequired, .stateUnknown, .issuerUnknown, .grantNotSupported,
      .sharedToken, .noRoom:
      break
    }
    return facts
  }
}

extension StoreError: FoundationError {
  /// `store_unavailable`.
  public var numberedCode: ResourceError.Code { .storeUnavailable }
  /// Its kind and detail.
  public var explanation: String { description }
  /// Whether the same call may succeed later.
  public var facts: PosternErrorFacts {
    var facts = PosternErrorFacts(isRetryable: isRetryable)
    facts.retryAfter = retryAfter
    return facts
  }
}
