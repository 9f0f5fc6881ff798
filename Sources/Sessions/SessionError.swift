package import KeySets
public import OAuthClient
package import PosternSupport
public import SessionRecords

/// Why a session could not be made, used or ended.
public struct SessionError: Error, Sendable {
  /// The kinds of fault.
  public enum Kind: Sendable {
    /// There is no such session, or it is another peer's: the same answer for both.
    case notFound
    /// The session is there, but the user has to log in again.
    case expired
    /// The token endpoint said no, or what it said is no token response.
    case tokenEndpoint(TokenError)
    /// The token endpoint, or the issuer's metadata, is out of reach.
    case unreachable(TokenError)
    /// The authorization did not go as it must: an error from the issuer, a wrong issuer, an ID token that is not
    /// valid.
    case authorizationFailed
    /// The access manager wants the user to do something before it gives a code.
    case adviceRequired(HeldAuthorization)
    /// No authorization of that state is under way for this peer.
    case stateUnknown
    /// The store cannot be used now.
    case store(StoreError)
    /// The session's issuer is not configured any more, or is another one now.
    case issuerUnknown
    /// The grant is not to be had: not configured, or nothing to do it with.
    case grantNotSupported
    /// The token is the sidecar's own (client credentials), which all owners share: nobody has it revoked.
    case sharedToken
    /// The user has not decided yet (RFC 8628 section 3.5); ask again after that time.
    case pending(retryAfter: Duration)
    /// Too much of this owner's is under way or kept: ask again after that time; nil when no time will help.
    case overloaded(retryAfter: Duration?)
    /// The grant was used, and its session is larger than what this owner may still keep: there is none, and its tokens
    /// are revoked.
    case noRoom
    /// The caller's own input; `path` points into the grant.
    case invalid(path: String)
    /// The waiting task was cancelled.
    case cancelled
    /// The caller's deadline passed.
    case deadlineExceeded
  }

  /// The kind of fault.
  public let kind: Kind
  /// For people and logs; holds no token and no handle.
  public let detail: String
  /// The issuer's own error code, where it gave one.
  public let upstreamCode: String?

  package init(_ kind: Kind, _ detail: String, upstreamCode: String? = nil) {
    self.kind = kind
    self.detail = detail
    self.upstreamCode = upstreamCode
  }

  /// What a token endpoint's fault means for a session.
  public init(_ error: TokenError) {
    switch error.kind {
    case .refused, .malformed: self.init(.tokenEndpoint(error), error.detail, upstreamCode: error.oauthError?.code)
    case .unavailable, .unreachable, .discovery:
      self.init(.unreachable(error), error.detail, upstreamCode: error.oauthError?.code)
    case .notPossible: self.init(.grantNotSupported, error.detail)
    case .cancelled: self.init(.cancelled, error.detail)
    case .deadlineExceeded: self.init(.deadlineExceeded, error.detail)
    }
  }

  /// No keys to judge an ID token with means that the issuer is out of reach.
  package init(_ error: KeySetError) {
    self.init(
      .unreachable(TokenError(.malformed, error.detail, status: error.status)),
      "the ID token cannot be validated: \(error.detail)", upstreamCode: error.kind.rawValue)
  }

  /// What is held up.
  package init(_ held: HeldAuthorization) {
    self.init(
      .adviceRequired(held), "the access manager wants the user to do something first",
      upstreamCode: "interaction_required")
  }

  /// What a store's fault means for a session.
  package init(_ error: StoreError) {
    self.init(error.kind == .overdrawn ? .overloaded(retryAfter: nil) : .store(error), error.detail)
  }

  /// What the end of a wait means for a session.
  package init(_ error: SingleFlightError<SessionError>) {
    switch error {
    case .failed(let error): self = error
    case .cancelled: self.init(.cancelled, "the wait for a token was cancelled")
    case .deadlineExceeded: self.init(.deadlineExceeded, "the deadline passed while waiting for a token")
    }
  }

  /// Whether it is advice that can be satisfied.
  package var isAdvice: Bool { if case .adviceRequired = kind { true } else { false } }

  /// What the token endpoint did, where that is the fault.
  var tokenError: TokenError? {
    switch kind {
    case .tokenEndpoint(let error), .unreachable(let error): error
    default: nil
    }
  }

  /// No such session, for this peer.
  public static let notFound = SessionError(.notFound, "no such session, for this peer")

  /// No login of that state is under way, for this peer.
  public static let authorizationUnknown = SessionError(
    .stateUnknown, "no authorization of that state is under way for this peer")

  /// No login on another device of that handle is under way, for this peer.
  public static let deviceAuthorizationUnknown = SessionError(
    .stateUnknown, "no device authorization of that handle is under way for this peer")

  /// The token is not one owner's.
  static let sharedToken = SessionError(
    .sharedToken, "the token is the sidecar's own (client credentials) and shared by its users: it is not revoked")

  /// The issuer is not configured, or not as it was.
  public static func issuerUnknown(_ detail: String) -> SessionError { SessionError(.issuerUnknown, detail) }

  /// The grant is not to be had.
  public static func grantNotSupported(_ detail: String) -> SessionError { SessionError(.grantNotSupported, detail) }

  /// The caller's own input.
  public static func invalid(_ detail: String, path: String) -> SessionError {
    SessionError(.invalid(path: path), detail)
  }
}

extension SessionError: CustomStringConvertible {
  /// The detail.
  public var description: String { detail }
}
