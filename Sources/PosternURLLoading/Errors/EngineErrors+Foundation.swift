public import AuthEngine
import Foundation
public import HTTPMessages

extension ResourceError: FoundationError {
  /// Its own.
  public var numberedCode: NumberedErrorCode { NumberedErrorCode(code) }
  /// Its detail.
  public var explanation: String { detail }
  /// Its own.
  public var facts: PosternErrorFacts {
    PosternErrorFacts(
      outcome: outcome, isRetryable: retryable, retryAfter: retryAfter, path: path?.jsonPointer,
      upstreamStatus: upstream?.status,
      upstreamCode: upstream?.code)
  }
}

extension TransportError: FoundationError {
  /// The code of a fetch that fails for the same reason.
  public var numberedCode: NumberedErrorCode { NumberedErrorCode(ResourceError.Code(code)) }
  /// Its detail.
  public var explanation: String { detail }
  /// Whether the request had an effect.
  public var facts: PosternErrorFacts { PosternErrorFacts(outcome: outcome, isRetryable: isTransient) }
}

extension HTTPURLError: FoundationError {
  /// `invalid_url`.
  public var numberedCode: NumberedErrorCode { .invalidURL }
  /// The violated rule.
  public var explanation: String { "the URL \(phrase)" }
}

extension KeyPinsError: FoundationError {
  /// `invalid_params`.
  public var numberedCode: NumberedErrorCode { .invalidRequest }
  /// The invalid pin, and the form of a valid one.
  public var explanation: String { description }
}

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

extension DecisionFault: FoundationError {
  /// `PosternDecisionErrorDomain`: the numbers are those of the decision point's statuses, 0 for an error of the
  /// sidecar.
  public static var errorDomain: String { "PosternDecisionErrorDomain" }
  /// The decision point's status and code.
  public var numberedCode: NumberedErrorCode { NumberedErrorCode(number: status.status, reason: status.code) }
  /// The status' message.
  public var explanation: String { status.message }
  /// Whether a retry may help.
  public var facts: PosternErrorFacts {
    switch retry {
    case .never: PosternErrorFacts(isRetryable: false)
    case .after(let wait): PosternErrorFacts(isRetryable: true, retryAfter: wait)
    }
  }
}

extension TokenFault: FoundationError {
  /// `PosternTokenErrorDomain`: violations of tokens have symbols and no numbers, so each has the number 1.
  public static var errorDomain: String { "PosternTokenErrorDomain" }
  /// The violated rule.
  public var numberedCode: NumberedErrorCode { NumberedErrorCode(number: 1, reason: code.rawValue) }
  /// Its message.
  public var explanation: String { message }
}
