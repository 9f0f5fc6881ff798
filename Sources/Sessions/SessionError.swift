public import OAuthClient
public import PosternSupport
public import SessionRecords
package import TokenValidation

/// Why a session could not be made, used or ended.
public struct SessionError: Error, Sendable, ConciseStringConvertible {
  /// The kinds of fault.
  public enum Kind: Sendable, ConciseStringConvertible {
    /// There is no such session, or it is another peer's: the same answer for both.
    case notFound
    /// The session is there, but the user has to log in again.
    case expired
    /// The token endpoint rejected the request, or its answer is no token response.
    case tokenEndpoint(TokenError)
    /// The token endpoint, or the issuer's metadata, is out of reach: no answer, or one that it cannot serve now.
    case unreachable(TokenError)
    /// The authorization failed: an error from the issuer, a wrong issuer, an ID token that is not
    /// valid.
    case authorizationFailed
    /// The access manager wants the user to do something before it gives a code.
    case adviceRequired(SuspendedAuthorization)
    /// No authorization of that state is under way for this peer.
    case stateUnknown
    /// The store cannot be used now.
    case store(StoreError)
    /// The session's issuer is not configured any more, or is another one now.
    case issuerUnknown
    /// The grant is not to be had: not configured, or nothing to do it with.
    case grantNotSupported
    /// The token is the sidecar's (client credentials), which all uids share: it is never revoked.
    case sharedToken
    /// The user has not decided yet (RFC 8628 section 3.5); ask again after that time.
    case pending(retryAfter: Duration)
    /// Too much of this uid's is under way or kept: ask again after that time; nil when no time will help.
    case overloaded(retryAfter: Duration?)
    /// The grant was used, and its session is larger than what this uid may still keep: there is none, and its tokens
    /// are revoked.
    case noCapacity
    /// A parameter of the caller's is not valid; `path` names it.
    case invalid(path: ParameterPath)
    /// The waiting task was cancelled.
    case cancelled
    /// The caller's deadline passed.
    case deadlineExceeded

    /// The code of an error of this kind.
    public var code: ErrorCode {
      switch self {
      case .notFound: .sessionNotFound
      case .expired: .sessionExpired
      case .tokenEndpoint: .tokenEndpointError
      case .unreachable(let error): error.isAnswered ? .tokenEndpointError : .tokenEndpointUnreachable
      case .authorizationFailed: .authorizationFailed
      case .adviceRequired: .adviceRequired
      case .stateUnknown: .stateUnknown
      case .store: .storeUnavailable
      case .issuerUnknown: .sessionIssuerUnknown
      case .grantNotSupported: .grantNotSupported
      case .sharedToken: .peerForbidden
      case .pending: .authorizationPending
      case .overloaded, .noCapacity: .overloaded
      case .invalid: .invalidParams
      case .cancelled: .requestCancelled
      case .deadlineExceeded: .deadlineExceeded
      }
    }

    /// The reason.
    public var description: String { code.reason }
  }

  /// The kind of fault.
  public let kind: Kind
  /// For people and logs; holds no token and no handle.
  public let detail: String
  /// `reason: detail`.
  public var description: String { "\(kind): \(detail)" }
  /// The issuer's own error code, where it gave one.
  public let upstreamCode: String?
  /// Which check of this program's own failed, where several end in the same kind: `state_mismatch`.
  public let fault: String?

  /// Whether the issuer will give the session no token later either. The refresh that failed ends the session then.
  let isFinal: Bool

  /// Whether the issuer's keys may be available later, where they are what is missing.
  private let keysRetryable: Bool?

  package init(
    _ kind: Kind, _ detail: String, upstreamCode: String? = nil, fault: String? = nil, isFinal: Bool = false,
    keysRetryable: Bool? = nil
  ) {
    self.kind = kind
    self.fault = fault
    self.detail = detail
    self.upstreamCode = upstreamCode
    self.isFinal = isFinal
    self.keysRetryable = keysRetryable
  }

  /// Whether the issuer does not grant the scope that a token was wanted for (RFC 6749 section 5.2).
  var isScopeRejected: Bool {
    guard case .tokenEndpoint = kind else { return false }
    return upstreamCode == "invalid_scope"
  }

  /// Whether the same call may succeed later without anybody changing anything; nil where the question makes no sense.
  public var isRetryable: Bool? {
    switch kind {
    case .unreachable(let error): keysRetryable ?? error.isRetryable
    case .store(let error): error.isRetryable
    case .pending, .deadlineExceeded: true
    case .overloaded(let wait): wait != nil
    case .tokenEndpoint(let error): error.isRetryable
    case .expired, .authorizationFailed, .adviceRequired, .stateUnknown, .issuerUnknown,
      .grantNotSupported, .sharedToken, .noCapacity:
      false
    case .notFound, .invalid, .cancelled: nil
    }
  }

  /// How long to wait before that, where it is known.
  public var retryAfter: Duration? {
    switch kind {
    case .tokenEndpoint(let error), .unreachable(let error): error.retryAfter
    case .store(let error): error.retryAfter
    case .pending(let wait): wait
    case .overloaded(let wait): wait
    default: nil
    }
  }

  /// The error of a session for one of a token endpoint.
  public init(_ error: TokenError) {
    switch error.kind {
    case .rejected, .malformed, .assertion:
      self.init(.tokenEndpoint(error), error.detail, upstreamCode: error.upstreamCode)
    case .discovery(let failure): self.init(.unreachable(error), error.detail, upstreamCode: failure.kind.code.reason)
    case .unavailable, .unreachable:
      self.init(.unreachable(error), error.detail, upstreamCode: error.oauthError?.code)
    case .notPossible: self.init(.grantNotSupported, error.detail)
    case .cancelled: self.init(.cancelled, error.detail)
    case .deadlineExceeded: self.init(.deadlineExceeded, error.detail)
    }
  }

  /// The error of a refresh for one of a token endpoint. Only `invalid_grant` is final: an outage never logs anybody
  /// out.
  init(ofRefresh error: TokenError) {
    guard case .rejected(let oauth?) = error.kind, oauth.code == "invalid_grant" else {
      self.init(error)
      return
    }
    self.init(
      .expired, "the issuer gives no more tokens: the user has to log in again", upstreamCode: oauth.code,
      isFinal: true)
  }

  /// The error of a session for one of an authorization request.
  init(_ error: AuthorizationError, isFinal: Bool = false) {
    if let cause = error.cause {
      self.init(cause)
    } else {
      self.init(.authorizationFailed, error.detail, upstreamCode: error.code, isFinal: isFinal || error.isFinal)
    }
  }

  /// No keys to judge an ID token with means that the issuer is out of reach.
  package init(_ error: KeySetError) {
    self.init(
      .unreachable(TokenError(.malformed, error.detail, status: error.status)),
      "the ID token cannot be validated: \(error.detail)", upstreamCode: error.kind.code.reason,
      keysRetryable: error.isRetryable || error.kind == .deadlineExceeded)
  }

  /// An authorization that waits for its user.
  package init(_ suspended: SuspendedAuthorization) {
    self.init(
      .adviceRequired(suspended), "the access manager wants the user to do something first",
      upstreamCode: "interaction_required")
  }

  /// The error of a session for one of a store.
  package init(_ error: StoreError) {
    self.init(error.kind == .overdrawn ? .overloaded(retryAfter: nil) : .store(error), error.detail)
  }

  /// The error of a session for a caller whose wait for a shared request ended.
  init(endOf wait: EndedWait) {
    switch wait {
    case .cancelled: self.init(.cancelled, "the wait for a token was cancelled")
    case .deadlineExceeded: self.init(.deadlineExceeded, "the deadline passed while waiting for a token")
    }
  }

  /// Whether the record has changed since it was read.
  var isConflict: Bool { if case .store(let error) = kind { error.kind == .conflict } else { false } }

  /// Whether the session was ended while its new tokens were requested.
  var isEndOfSession: Bool {
    switch kind {
    case .notFound: true
    case .authorizationFailed: upstreamCode == Self.loggedOut.upstreamCode
    default: false
    }
  }

  /// Whether it is advice that can be satisfied.
  package var isAdvice: Bool { if case .adviceRequired = kind { true } else { false } }

  /// The token endpoint's error, where that is the cause.
  var tokenError: TokenError? {
    switch kind {
    case .tokenEndpoint(let error), .unreachable(let error): error
    default: nil
    }
  }

  /// No such session, for this peer.
  public static let notFound = SessionError(.notFound, "no such session, for this peer")

  /// The call names no session, and none is chosen for it: nobody is logged in.
  public static let sessionMissing = SessionError(
    .notFound, "no session is named, so nobody is logged in: pass the handle that the login returned")

  /// The browser that sent the callback is not the one that began the login.
  static let stateMismatch = SessionError(
    .authorizationFailed,
    "the callback's state is not the one of this browser: the login was begun in another browser, or the cookie is gone",
    fault: "state_mismatch")

  /// No login of that state is under way, for this peer.
  public static let authorizationUnknown = SessionError(
    .stateUnknown,
    "no authorization of that state is under way for this peer: it was used, has expired, or was replaced by newer logins"
  )

  /// No login on another device of that handle is under way, for this peer.
  public static let deviceAuthorizationUnknown = SessionError(
    .stateUnknown,
    "no device authorization of that handle is under way for this peer: it was used, has expired, or was replaced by newer logins"
  )

  /// There is no ID token where one was requested.
  static let missingIDToken = SessionError(
    .authorizationFailed, "the token endpoint gave no ID token", upstreamCode: "missing_id_token")

  /// The login has been ended at its issuer before it was complete here.
  static let loggedOut = SessionError(
    .authorizationFailed, "the user has been logged out at the issuer since the login began", upstreamCode: "logged_out"
  )

  /// How many sessions are counted at most for an error: a uid may have thousands, and a store lists few at a time.
  package static let countedSessions = 10

  /// The call names no session, and the uid has `count` that fit, or more where only so many are counted.
  package static func severalSessions(_ count: Int, at issuer: String? = nil) -> SessionError {
    let number = count < countedSessions ? "\(count)" : "at least \(count)"
    let location = issuer.map { " at issuer \($0)" } ?? ""
    return .invalid(
      "There are \(number) sessions\(location): pass the handle of one as `session` (listSessions has them)",
      path: ["session"])
  }

  /// The token is not one uid's.
  static let sharedToken = SessionError(
    .sharedToken, "the token is the sidecar's own (client credentials) and shared by its users: it is not revoked")

  /// The issuer is not configured, or not as it was.
  public static func issuerUnknown(_ detail: String) -> SessionError { SessionError(.issuerUnknown, detail) }

  /// The grant is not to be had.
  public static func grantNotSupported(_ detail: String) -> SessionError { SessionError(.grantNotSupported, detail) }

  /// The caller's own input.
  public static func invalid(_ detail: String, path: ParameterPath) -> SessionError {
    SessionError(.invalid(path: path), detail)
  }
}

/// Runs `body`, whose error becomes that of a session.
func inStore<Value>(_ body: () async throws(StoreError) -> Value) async throws(SessionError) -> Value {
  do throws(StoreError) { return try await body() } catch { throw SessionError(error) }
}
