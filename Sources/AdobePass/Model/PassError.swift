public import Entitlements
public import HTTPMessages
import OAuthClient
public import PosternSupport
import SessionRecords

/// The reason why a call to Adobe Pass has no result.
public struct PassError: Error, Sendable {
  /// The kinds of errors.
  public enum Kind: Sendable, Hashable {
    /// A parameter cannot be sent.
    case invalidParameter(PassParameterError)
    /// Adobe Pass answered, and it was no success; or the sidecar has no credentials that it accepts.
    case rejected
    /// There was no usable answer.
    case unreachable
    /// The session store cannot be used.
    case storeUnavailable
    /// The call's deadline passed.
    case deadlineExceeded
    /// The call was cancelled.
    case cancelled

    /// The code of an error of this kind.
    public var code: ErrorCode {
      switch self {
      case .invalidParameter: .invalidParams
      case .rejected: .passError
      case .unreachable: .passUnreachable
      case .storeUnavailable: .storeUnavailable
      case .deadlineExceeded: .deadlineExceeded
      case .cancelled: .requestCancelled
      }
    }
  }

  /// The kind.
  public let kind: Kind
  /// The enhanced error: Adobe's own, or the sidecar's with status 0. For `rejected` always.
  public let status: Status?
  /// The step that helps, for `rejected`.
  public let next: PassNextStep?
  /// Whether the same call may succeed later.
  public let isRetryable: Bool
  /// The time before which a retry is useless; nil where none is known.
  public let retryAfter: Duration?
  /// Whether the request may have had an effect.
  public let outcome: TransportError.Outcome
  /// The answer: its HTTP status, and Adobe's code where it has one; nil without an answer.
  public let upstream: UpstreamFault?
  /// The error in words, without secrets.
  public let detail: String
}

/// The step that helps after an error of Adobe Pass.
public enum PassNextStep: String, Sendable, Hashable, CaseIterable {
  /// The user has to log in.
  case login
  /// The code is wrong or over: a new session has a new one.
  case newCode
  /// The user has to choose an MVPD again.
  case chooseMVPD = "chooseMvpd"
  /// The identity for the TempPass is missing or wrong.
  case identity
  /// The partner's framework has to be read again.
  case partnerStatus
  /// The operator has to change a configuration.
  case `operator`
  /// The same call may succeed later.
  case later
  /// Nothing.
  case none

  /// The codes that decide, whatever action comes with them.
  private static let byCode: [String: PassNextStep] = [
    "invalid_parameter_code": .newCode, "invalid_authentication_session": .newCode,
    "invalid_integration": .chooseMVPD, "invalid_parameter_mvpd": .chooseMVPD,
    "invalid_header_identity_for_temporary_access": .identity, "invalid_parameter_saml_response": .partnerStatus,
    "access_token_unavailable": .operator, "internal_server_error": .later, "too_many_requests": .later,
    "network_received_error": .later, "network_connection_timeout": .later,
    "maximum_execution_time_exceeded": .later,
  ]

  /// The step that helps after `status`: by its code, and by its action where the code does not decide.
  public init(_ status: Status) {
    if let step = Self.byCode[status.code] {
      self = step
      return
    }
    if status.code.startsWithBytes(of: "invalid_header_pfs_") {
      self = .partnerStatus
      return
    }
    // Samples contradict the published table: the action of a known code is the table's.
    switch EnhancedErrorTable[status.code]?.action ?? status.action {
    case "authentication": self = .login
    case "configuration", "application-registration": self = .operator
    case "retry", "retry-after": self = .later
    default: self = .none
    }
  }
}

extension PassError {
  /// A parameter that cannot be sent.
  package init(_ error: PassParameterError) {
    self.init(
      kind: .invalidParameter(error), status: nil, next: nil, isRetryable: false, retryAfter: nil, outcome: .notSent,
      upstream: nil, detail: "\(error.path.jsonPointer) \(error.reason)")
  }

  /// An answer that was no success, with its HTTP status and with Adobe's code where it has one; or the sidecar's own
  /// reason for none.
  static func rejected(
    _ status: Status, outcome: TransportError.Outcome = .replied, http: Int? = nil, code: String? = nil,
    retryAfter: Duration? = nil
  ) -> PassError {
    let next = PassNextStep(status)
    return PassError(
      kind: .rejected, status: status, next: next, isRetryable: next == .later, retryAfter: retryAfter,
      outcome: outcome, upstream: UpstreamFault(status: http, code: code),
      detail: status.isLocal ? status.details ?? status.message : "Adobe Pass answered with \(shownCode(of: status))")
  }

  /// The code of Adobe's error where it is a known one: a server can put anything there, and `detail` is logged.
  private static func shownCode(of status: Status) -> String {
    EnhancedErrorTable[status.code] == nil ? "an error of an unknown code" : status.code
  }

  /// An answer that is not what is documented.
  static func format(_ details: String, http: Int? = nil, trace: String? = nil) -> PassError {
    rejected(.formatUnknown(details, trace: trace), http: http)
  }

  /// No usable answer.
  static func unreachable(
    _ detail: String, outcome: TransportError.Outcome, http: Int? = nil, retryAfter: Duration? = nil
  ) -> PassError {
    PassError(
      kind: .unreachable, status: nil, next: nil, isRetryable: true, retryAfter: retryAfter, outcome: outcome,
      upstream: UpstreamFault(status: http), detail: detail)
  }

  /// The same error `rest` before a retry may succeed, where it is one of a busy server.
  func waiting(_ rest: Duration) -> PassError {
    guard retryAfter != nil else { return self }
    return PassError(
      kind: kind, status: status, next: next, isRetryable: isRetryable, retryAfter: rest, outcome: outcome,
      upstream: upstream, detail: detail)
  }

  /// The end of the call before there was an answer.
  static func ended(_ kind: Kind, outcome: TransportError.Outcome = .notSent) -> PassError {
    PassError(
      kind: kind, status: nil, next: nil, isRetryable: kind == .deadlineExceeded, retryAfter: nil, outcome: outcome,
      upstream: nil, detail: kind == .cancelled ? "cancelled" : "the deadline of the call passed")
  }

  /// The error of a caller whose wait for a shared request ended.
  init(endOf wait: EndedWait) {
    self =
      switch wait {
      case .cancelled: .ended(.cancelled)
      case .deadlineExceeded: .unreachable("timed out before Adobe Pass answered", outcome: .sentNoReply)
      }
  }

  /// A store that cannot be used, before the request was sent or afterwards.
  init(_ error: StoreError, outcome: TransportError.Outcome) {
    self.init(
      kind: .storeUnavailable, status: nil, next: nil, isRetryable: error.isRetryable, retryAfter: error.retryAfter,
      outcome: outcome, upstream: nil, detail: error.description)
  }
}

extension PassError: ConciseStringConvertible {
  /// The error in words.
  public var description: String { Concise.text(Concise.name(detail), isRetryable ? "a retry may help" : nil) }
}

extension PassError.Kind: ConciseStringConvertible {
  /// The kind in words.
  public var description: String {
    switch self {
    case .invalidParameter(let error): "invalid parameter \(error)"
    case .rejected: "rejected"
    case .unreachable: "unreachable"
    case .storeUnavailable: "store unavailable"
    case .deadlineExceeded: "deadline exceeded"
    case .cancelled: "cancelled"
    }
  }
}
