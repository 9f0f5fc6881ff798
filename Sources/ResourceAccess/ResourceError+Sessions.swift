import OAuthClient
import PosternSupport
import SessionRecords
import Sessions

extension ResourceError {
  /// A fetch of nobody, from a resource whose tokens are users'.
  static let sessionMissing = ResourceError(
    .notAuthenticated, "no session is named, so nobody is logged in", retryable: false)

  /// The error of a fetch whose session has no token to give: nothing went to the resource.
  ///
  /// Only a fault that another login resolves is `not_authenticated`, such as an issuer that requires something of the
  /// user; a rejection for other reasons and an issuer that is out of order have codes of their own.
  init(_ error: SessionError, kind: SessionKind, issuer: String) {
    let code: ErrorCode = kind == .user ? .notAuthenticated : .notImplicitlyAuthenticated
    let detail = "no token from issuer \(issuer): \(error.detail)"
    switch error.kind {
    case .notFound: self.init(.sessionNotFound, error.detail, path: ["session"])
    case .unreachable(let failure):
      let base = ResourceError(failure, issuer: issuer)
      let answered: ErrorCode = failure.isAnswered ? .tokenEndpointError : .tokenEndpointUnreachable
      self.init(
        base.code == .deviceNotAuthenticated ? answered : base.code, detail, upstream: base.upstream,
        retryable: error.isRetryable, retryAfter: base.retryAfter)
    case .tokenEndpoint(let failure):
      let oauth = failure.oauthError
      // What the issuer requires, a user does in a login.
      let needsLogin = oauth?.interaction != nil
      self.init(
        needsLogin ? code : .tokenEndpointError,
        needsLogin ? "the user has to log in: \(detail)" : "the session is not refreshed: \(detail)",
        upstream: UpstreamFault(status: failure.status, code: failure.upstreamCode, description: oauth?.description),
        retryable: error.isRetryable, retryAfter: failure.retryAfter, interaction: oauth?.interaction)
    case .adviceRequired(let stopped):
      self.init(
        .adviceRequired, detail, upstream: UpstreamFault(code: error.upstreamCode), retryable: error.isRetryable,
        stop: AdviceStop(advices: stopped.advices, response: nil, progress: AdviceProgress()))
    case .store(let failure):
      self.init(
        .storeUnavailable, error.detail, retryable: error.isRetryable, retryAfter: failure.retryAfter)
    case .cancelled: self.init(.requestCancelled, detail)
    case .deadlineExceeded: self.init(.deadlineExceeded, detail, retryable: error.isRetryable)
    case .overloaded(let wait):
      self.init(.overloaded, detail, retryable: error.isRetryable, retryAfter: wait)
    case .invalid(let path): self.init(.invalidParams, error.detail, path: path)
    case .expired, .authorizationFailed, .stateUnknown, .issuerUnknown, .grantNotSupported, .sharedToken, .noCapacity,
      .pending:
      self.init(code, detail, upstream: UpstreamFault(code: error.upstreamCode), retryable: error.isRetryable)
    }
    self.issuer = issuer
  }
}
