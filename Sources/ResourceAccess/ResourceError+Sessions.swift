import OAuthClient
import SessionRecords
import Sessions

extension ResourceError {
  /// The error of a fetch whose session has no token to give: nothing went to the resource.
  ///
  /// Only what another login mends is `not_authenticated`; a refusal for other reasons and an issuer that cannot serve
  /// are told as what they are.
  init(_ error: SessionError, kind: SessionKind, issuer: String) {
    let code: Code = kind == .user ? .notAuthenticated : .notImplicitlyAuthenticated
    let detail = "no token from issuer \(issuer): \(error.detail)"
    switch error.kind {
    case .notFound: self.init(.sessionNotFound, error.detail, path: "/session")
    case .unreachable(let failure):
      let base = ResourceError(failure, issuer: issuer)
      self.init(
        base.code == .deviceNotAuthenticated ? .tokenEndpointUnreachable : base.code, detail, upstream: base.upstream,
        retryable: base.retryable, retryAfter: base.retryAfter)
    case .tokenEndpoint(let failure):
      let said = failure.oauthError
      self.init(
        .tokenEndpointError, "the session is not renewed, its user need not log in again: \(detail)",
        upstream: Upstream(status: failure.status, code: said?.code, description: said?.description),
        retryable: false, retryAfter: failure.retryAfter)
    case .adviceRequired(let held):
      self.init(
        .adviceRequired, detail, upstream: error.upstreamCode.map { Upstream(code: $0) }, retryable: false,
        stop: AdviceStop(advices: held.advices, response: nil, progress: AdviceProgress()))
    case .store(let failure):
      self.init(
        .storeUnavailable, error.detail, retryable: failure.isRetryable, retryAfter: failure.retryAfter)
    case .cancelled: self.init(.requestCancelled, detail)
    case .deadlineExceeded: self.init(.deadlineExceeded, detail, retryable: true)
    case .overloaded(let wait):
      self.init(.tokenEndpointUnreachable, detail, retryable: wait != nil, retryAfter: wait)
    case .invalid(let path): self.init(.invalidRequest, error.detail, path: path)
    case .expired, .authorizationFailed, .stateUnknown, .issuerUnknown, .grantNotSupported, .sharedToken, .noRoom,
      .pending:
      self.init(code, detail, upstream: error.upstreamCode.map { Upstream(code: $0) }, retryable: false)
    }
  }
}
