import AuthEngine
public import Foundation
public import HTTPMessages
public import PosternSupport

/// An error of the engine as Foundation has errors: `localizedDescription` describes it, and as an `NSError` it has the
/// domain `PosternErrorDomain`, the number that `errors.md` gives it, and in `userInfo` the values that a program
/// decides by (`PosternErrorKey`).
public protocol FoundationError: LocalizedError, CustomNSError {
  /// Number and reason, as in `errors.md`.
  var numberedCode: NumberedErrorCode { get }
  /// A sentence for people: no token, query, header value or body.
  var explanation: String { get }
  /// Further values.
  var facts: PosternErrorFacts { get }
}

/// The domain of the engine's errors. A number has one meaning, whatever type has it.
public let posternErrorDomain = "PosternErrorDomain"

/// Members of an engine error's `userInfo`, in addition to `NSLocalizedDescriptionKey` and
/// `NSLocalizedFailureReasonErrorKey`. Unknown values are left out.
public enum PosternErrorKey {
  /// `String`: the stable symbol to decide by, such as `not_authenticated`.
  public static let reason = "PosternReason"
  /// `String`: whether the request had an effect: `not_sent`, `sent_no_reply` or `replied`.
  public static let outcome = "PosternOutcome"
  /// `Bool`: whether the same call may succeed later.
  public static let isRetryable = "PosternRetryable"
  /// `Double`: the delay before a retry, in seconds.
  public static let retryAfter = "PosternRetryAfter"
  /// `String`: JSON Pointer of the invalid part of the call.
  public static let path = "PosternPath"
  /// `Int`: the status of another server's answer.
  public static let upstreamStatus = "PosternUpstreamStatus"
  /// `String`: another server's own error code, or the fault of its answer.
  public static let upstreamCode = "PosternUpstreamCode"
}

/// The values of an error in addition to its code.
public struct PosternErrorFacts: Sendable, Hashable {
  /// Whether the request had an effect.
  public var outcome: TransportError.Outcome?
  /// Whether the same call may succeed later.
  public var isRetryable: Bool?
  /// The delay before a retry.
  public var retryAfter: Duration?
  /// JSON Pointer of the invalid part of the call.
  public var path: String?
  /// The status of another server's answer.
  public var upstreamStatus: Int?
  /// Another server's own error code.
  public var upstreamCode: String?

  /// The known values.
  public init(
    outcome: TransportError.Outcome? = nil, isRetryable: Bool? = nil, retryAfter: Duration? = nil, path: String? = nil,
    upstreamStatus: Int? = nil, upstreamCode: String? = nil
  ) {
    self.outcome = outcome
    self.isRetryable = isRetryable
    self.retryAfter = retryAfter
    self.path = path
    self.upstreamStatus = upstreamStatus
    self.upstreamCode = upstreamCode
  }
}

extension FoundationError {
  /// `PosternErrorDomain`.
  public static var errorDomain: String { posternErrorDomain }
  /// The number.
  public var errorCode: Int { numberedCode.number }
  /// The explanation.
  public var errorDescription: String? { explanation }
  /// The stable symbol.
  public var failureReason: String? { numberedCode.reason }
  /// Nothing.
  public var facts: PosternErrorFacts { PosternErrorFacts() }

  /// The known values, by `PosternErrorKey`.
  public var errorUserInfo: [String: Any] {
    let facts = facts
    var userInfo: [String: Any] = [
      NSLocalizedDescriptionKey: explanation,
      NSLocalizedFailureReasonErrorKey: numberedCode.reason,
      PosternErrorKey.reason: numberedCode.reason,
    ]
    userInfo[PosternErrorKey.outcome] = facts.outcome?.rawValue
    userInfo[PosternErrorKey.isRetryable] = facts.isRetryable
    userInfo[PosternErrorKey.retryAfter] = facts.retryAfter.map { $0 / .seconds(1) }
    userInfo[PosternErrorKey.path] = facts.path
    userInfo[PosternErrorKey.upstreamStatus] = facts.upstreamStatus
    userInfo[PosternErrorKey.upstreamCode] = facts.upstreamCode
    return userInfo
  }
}

extension PosternErrorFacts: ConciseStringConvertible {
  /// The known values.
  public var description: String {
    Concise.text(
      "facts", outcome?.rawValue, isRetryable.map { $0 ? "retryable" : "not retryable" },
      retryAfter.map { "retry after \($0)" }, path.map(Concise.name), upstreamStatus.map { "status \($0)" },
      upstreamCode.map(Concise.name))
  }
}

/// The code of an error of the engine as Foundation has errors.
public struct NumberedErrorCode: Sendable, Hashable {
  /// The `NSError` code. For the domain `PosternErrorDomain` it is the number that `errors.md` lists.
  public let number: Int
  /// The stable symbol to switch on.
  public let reason: String

  static let notAuthenticated = Self(number: 1001, reason: "not_authenticated")
  static let notImplicitlyAuthenticated = Self(number: 1002, reason: "not_implicitly_authenticated")
  static let deviceNotAuthenticated = Self(number: 1003, reason: "device_not_authenticated")
  static let methodNotAllowed = Self(number: 1004, reason: "method_not_allowed")
  static let invalidHeaders = Self(number: 1005, reason: "invalid_headers")
  static let invalidURL = Self(number: 1006, reason: "invalid_url")
  static let originNotAllowed = Self(number: 1007, reason: "origin_not_allowed")
  static let networkUnreachable = Self(number: 1008, reason: "network_unreachable")
  static let serverUnreachable = Self(number: 1009, reason: "server_unreachable")
  static let tlsFailure = Self(number: 1010, reason: "tls_failure")
  static let pinMismatch = Self(number: 1011, reason: "pin_mismatch")
  static let responseTooLarge = Self(number: 1012, reason: "response_too_large")
  static let protocolError = Self(number: 1013, reason: "protocol_error")
  static let payloadEncryptionFailed = Self(number: 1015, reason: "payload_encryption_failed")
  static let adviceRequired = Self(number: 1017, reason: "advice_required")
  static let adviceFailed = Self(number: 1018, reason: "advice_failed")
  static let interactionRequired = Self(number: 1019, reason: "interaction_required")
  static let jwksFetchFailed = Self(number: 2001, reason: "jwks_fetch_failed")
  static let discoveryFailed = Self(number: 2002, reason: "discovery_failed")
  static let discoveryIssuerMismatch = Self(number: 2003, reason: "discovery_issuer_mismatch")
  static let jwksInvalid = Self(number: 2004, reason: "jwks_invalid")
  static let introspectionFailed = Self(number: 2007, reason: "introspection_failed")
  static let adviceNotRecognised = Self(number: 3001, reason: "advice_not_recognised")
  static let continuationUnknown = Self(number: 3002, reason: "continuation_unknown")
  static let authenticationTimedOut = Self(number: 3003, reason: "authentication_timed_out")
  static let accessManagerUnreachable = Self(number: 3004, reason: "access_manager_unreachable")
  static let accessManagerError = Self(number: 3005, reason: "access_manager_error")
  static let sessionNotFound = Self(number: 5001, reason: "session_not_found")
  static let sessionExpired = Self(number: 5002, reason: "session_expired")
  static let tokenEndpointError = Self(number: 5003, reason: "token_endpoint_error")
  static let tokenEndpointUnreachable = Self(number: 5004, reason: "token_endpoint_unreachable")
  static let authorizationFailed = Self(number: 5005, reason: "authorization_failed")
  static let stateUnknown = Self(number: 5006, reason: "state_unknown")
  static let authorizationPending = Self(number: 5007, reason: "authorization_pending")
  static let storeUnavailable = Self(number: 5008, reason: "store_unavailable")
  static let issuerUnknown = Self(number: 5009, reason: "issuer_unknown")
  static let grantNotSupported = Self(number: 5010, reason: "grant_not_supported")
  static let overloaded = Self(number: -32_009, reason: "overloaded")
  static let peerForbidden = Self(number: -32_020, reason: "peer_forbidden")
  static let deadlineExceeded = Self(number: -32_022, reason: "deadline_exceeded")
  static let invalidRequest = Self(number: -32_602, reason: "invalid_params")
  static let internalError = Self(number: -32_603, reason: "internal_error")
  static let requestCancelled = Self(number: -32_800, reason: "request_cancelled")
}

extension NumberedErrorCode {
  init(_ code: ResourceError.Code) {
    self =
      switch code {
      case .adviceRequired: .adviceRequired
      case .adviceFailed: .adviceFailed
      case .interactionRequired: .interactionRequired
      case .notAuthenticated: .notAuthenticated
      case .notImplicitlyAuthenticated: .notImplicitlyAuthenticated
      case .deviceNotAuthenticated: .deviceNotAuthenticated
      case .methodNotAllowed: .methodNotAllowed
      case .invalidHeaders: .invalidHeaders
      case .invalidURL: .invalidURL
      case .originNotAllowed: .originNotAllowed
      case .networkUnreachable: .networkUnreachable
      case .serverUnreachable: .serverUnreachable
      case .tlsFailure: .tlsFailure
      case .pinMismatch: .pinMismatch
      case .responseTooLarge: .responseTooLarge
      case .protocolError: .protocolError
      case .payloadEncryptionFailed: .payloadEncryptionFailed
      case .sessionNotFound: .sessionNotFound
      case .tokenEndpointError: .tokenEndpointError
      case .tokenEndpointUnreachable: .tokenEndpointUnreachable
      case .storeUnavailable: .storeUnavailable
      case .invalidRequest: .invalidRequest
      case .overloaded: .overloaded
      case .deadlineExceeded: .deadlineExceeded
      case .requestCancelled: .requestCancelled
      case .internalError: .internalError
      }
  }
}

extension NumberedErrorCode: ConciseStringConvertible {
  /// `not_authenticated (1001)`.
  public var description: String { "\(reason) (\(number))" }
}
