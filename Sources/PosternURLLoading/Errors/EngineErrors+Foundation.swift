public import AuthEngine
import Foundation
public import HTTPMessages
public import JOSE
public import PosternJSON
public import PosternSupport

extension ResourceError: FoundationError {
  /// Its own.
  public var numberedCode: ErrorCode { code }
  /// Its detail.
  public var explanation: String { detail }
  /// Its own.
  public var facts: PosternErrorFacts {
    PosternErrorFacts(
      outcome: outcome, isRetryable: retryable, retryAfter: retryAfter, path: path?.jsonPointer,
      upstream: upstream)
  }
}

extension TransportError: FoundationError {
  /// The code of a fetch that fails for the same reason.
  public var numberedCode: ErrorCode { code.errorCode }
  /// Its detail.
  public var explanation: String { detail }
  /// Whether the request had an effect.
  public var facts: PosternErrorFacts { PosternErrorFacts(outcome: outcome, isRetryable: isTransient) }
}

extension HTTPURLError: FoundationError {
  /// `invalid_url`.
  public var numberedCode: ErrorCode { .invalidURL }
  /// The violated rule.
  public var explanation: String { "the URL \(phrase)" }
}

extension KeyPinsError: FoundationError {
  /// `invalid_params`.
  public var numberedCode: ErrorCode { .invalidParams }
  /// The invalid pin, and the form of a valid one.
  public var explanation: String { description }
}

extension TokenError: FoundationError {
  /// By its kind.
  public var numberedCode: ErrorCode { kind.code }
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
    var status = error.status ?? upstream?.status
    if case .discovery(let failure) = error.kind { status = failure.status ?? status }
    upstream = UpstreamFault(status: status, code: error.upstreamCode ?? upstream?.code)
    isRetryable = error.isRetryable
  }
}

extension SessionError: FoundationError {
  /// By its kind.
  public var numberedCode: ErrorCode { kind.code }
  /// Its detail.
  public var explanation: String { detail }
  /// The token endpoint's status and code, and the delay before a retry.
  public var facts: PosternErrorFacts {
    var facts = PosternErrorFacts(upstream: UpstreamFault(code: upstreamCode))
    switch kind {
    case .tokenEndpoint(let error), .unreachable(let error): facts.take(error)
    case .invalid(let path): facts.path = path.jsonPointer
    default: break
    }
    facts.isRetryable = isRetryable
    facts.retryAfter = retryAfter
    return facts
  }
}

extension StoreError: FoundationError {
  /// `store_unavailable`.
  public var numberedCode: ErrorCode { .storeUnavailable }
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
  public var numberedCode: ErrorCode { kind.code }
  /// Its detail.
  public var explanation: String { detail }
  /// The access manager's status and code, and the delay before a retry.
  public var facts: PosternErrorFacts {
    switch kind {
    case .adviceNotRecognised, .timedOut: PosternErrorFacts(isRetryable: false)
    case .continuationUnknown: PosternErrorFacts(path: "/continuation")
    case .unreachable(let error): PosternErrorFacts(outcome: error.outcome, isRetryable: error.isRetryable)
    case .accessManager(let status, let code):
      PosternErrorFacts(isRetryable: (status ?? 0) >= 500, upstream: UpstreamFault(status: status, code: code))
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
  public var numberedCode: ErrorCode { kind.code }
  /// Its detail.
  public var explanation: String { detail }
  /// The server's status, and the delay before a retry.
  public var facts: PosternErrorFacts {
    PosternErrorFacts(
      isRetryable: kind == .cancelled ? nil : isRetryable || kind == .deadlineExceeded, retryAfter: retryAfter,
      upstream: UpstreamFault(status: status))
  }
}

extension DiscoveryError: FoundationError {
  /// By its kind.
  public var numberedCode: ErrorCode { kind.code }
  /// Its detail.
  public var explanation: String { detail }
  /// The server's status.
  public var facts: PosternErrorFacts {
    PosternErrorFacts(isRetryable: isRetryable, upstream: UpstreamFault(status: status))
  }
}

extension IntrospectionError: FoundationError {
  /// By the step that failed.
  public var numberedCode: ErrorCode { code }
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
    case .unverified(let fault):
      PosternErrorFacts(isRetryable: false, upstream: UpstreamFault(code: fault.code.rawValue))
    case .unanswered(let error): error.facts
    }
  }
}

extension DecisionFault: FoundationError {
  /// `PosternDecisionErrorDomain`: the numbers are those of the decision point's statuses, 0 for an error of the
  /// sidecar.
  public static var errorDomain: String { "PosternDecisionErrorDomain" }
  /// The decision point's status and code.
  public var numberedCode: ErrorCode { ErrorCode(status.status, status.code, status.message) }
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
  public var numberedCode: ErrorCode { ErrorCode(1, code.rawValue, message) }
  /// Its message.
  public var explanation: String { message }
}

extension IDTokenValidationError: FoundationError {
  /// `PosternTokenErrorDomain`, which has the numbers of errors.md for missing keys, too.
  public static var errorDomain: String { TokenFault.errorDomain }
  /// The violated rule, or why there are no keys.
  public var numberedCode: ErrorCode { cause.numberedCode }
  /// The same in words.
  public var explanation: String { cause.explanation }
  /// Those of the missing keys.
  public var facts: PosternErrorFacts { cause.facts }

  private var cause: any FoundationError {
    switch self {
    case .invalid(let fault): fault
    case .undecided(let error): error
    }
  }
}

extension InboundTokenError: FoundationError {
  /// `PosternTokenErrorDomain`, which has the numbers of errors.md for a token that cannot be judged, too.
  public static var errorDomain: String { TokenFault.errorDomain }
  /// The violated rule, or why there is no verdict.
  public var numberedCode: ErrorCode { cause.numberedCode }
  /// The same in words.
  public var explanation: String { cause.explanation }
  /// Those of the missing verdict.
  public var facts: PosternErrorFacts { cause.facts }

  private var cause: any FoundationError {
    switch self {
    case .invalid(let fault): fault
    case .undecided(let error): error
    case .notIntrospected(let error): error
    }
  }
}

extension JOSEError: FoundationError {
  /// `PosternTokenErrorDomain`: keys and signatures have symbols and no numbers, so each has the number 1.
  public static var errorDomain: String { TokenFault.errorDomain }
  /// The violated rule.
  public var numberedCode: ErrorCode { ErrorCode(1, code.rawValue, message) }
  /// Its message.
  public var explanation: String { message }
}

extension PassError: FoundationError {
  /// By its kind.
  public var numberedCode: ErrorCode { kind.code }
  /// Its detail.
  public var explanation: String { detail }
  /// Adobe's answer, and the delay before a retry.
  public var facts: PosternErrorFacts {
    var facts = PosternErrorFacts(
      outcome: outcome, isRetryable: isRetryable, retryAfter: retryAfter, upstream: upstream)
    if case .invalidParameter(let parameter) = kind { facts.path = parameter.path.jsonPointer }
    return facts
  }
}

extension PassParameterError: FoundationError {
  /// `invalid_params`.
  public var numberedCode: ErrorCode { .invalidParams }
  /// Its reason.
  public var explanation: String { "\(path.jsonPointer) \(reason)" }
  /// The parameter.
  public var facts: PosternErrorFacts { PosternErrorFacts(path: path.jsonPointer) }
}

extension JSONParseError: FoundationError {
  /// `parse_error`.
  public var numberedCode: ErrorCode { .parseError }
  /// The fault, and where it is.
  public var explanation: String { description }
}

extension JSONDecodingError: FoundationError {
  /// `invalid_params`.
  public var numberedCode: ErrorCode { .invalidParams }
  /// The value, and what is wrong with it.
  public var explanation: String { description }
  /// The value.
  public var facts: PosternErrorFacts { PosternErrorFacts(path: path) }
}

extension StaticCredentialError: FoundationError {
  /// `invalid_params`.
  public var numberedCode: ErrorCode { .invalidParams }
  /// The part, and what is wrong with it.
  public var explanation: String { description }
}

extension PayloadEncryption.KeyError: FoundationError {
  /// `invalid_params`.
  public var numberedCode: ErrorCode { .invalidParams }
  /// The key, and what is wrong with it.
  public var explanation: String { description }
}
