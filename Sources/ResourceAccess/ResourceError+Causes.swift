import HTTPMessages
package import OAuthClient
import PosternSupport

extension ResourceError {
  /// The error of a fetch whose exchange failed. `mayHaveHadEffect`: an earlier request of the same fetch was
  /// answered (a redirect).
  init(_ error: TransportError, resource: String, method: HTTPMethod, mayHaveHadEffect: Bool) {
    let outcome = mayHaveHadEffect ? .replied : error.outcome
    let limit =
      switch (error.code, error.limit) {
      // The other limits of responses have no key.
      case (.responseTooLarge, .bodySize): " (resources.\(resource).maxBodyBytes)"
      case (.timedOut, .silence): " (resources.\(resource).idleTimeout)"
      case (.timedOut, _): " (timeoutMs, without it resources.\(resource).timeout)"
      default: ""
      }
    self.init(
      error.code.errorCode, error.detail + limit, outcome: outcome,
      upstream: UpstreamFault(status: error.proxy?.status),
      retryable: error.code == .cancelled
        ? nil : error.isTransient && (outcome == .notSent || method.isIdempotent),
      retryAfter: error.code == .descriptorsOut ? .seconds(1) : nil)
    proxyFault = error.proxy
  }

  /// The error of a fetch that the limits of `resource` rejected.
  init(_ reason: OriginLimiter.Rejection, resource: String, method: HTTPMethod, mayHaveHadEffect: Bool) {
    let outcome: TransportError.Outcome = mayHaveHadEffect ? .replied : .notSent
    let retryable = !mayHaveHadEffect || method.isIdempotent
    switch reason {
    case .full:
      self.init(
        .overloaded, "all slots of resource \(resource) and its queue are taken (resources.\(resource).limits)",
        outcome: outcome,
        retryable: retryable, retryAfter: .seconds(1))
    case .open(let pause):
      self.init(
        .serverUnreachable,
        "resource \(resource) has failed too often in a row: its circuit breaker is open (resources.\(resource).limits.breaker)",
        outcome: outcome, retryable: retryable, retryAfter: pause)
    case .cancelled: self.init(.requestCancelled, "cancelled while it waited for a slot", outcome: outcome)
    case .deadlineExceeded:
      self.init(
        .deadlineExceeded, "the deadline passed while it waited for a slot", outcome: outcome, retryable: retryable)
    }
  }

  /// The error of a fetch for which no token could be got: nothing went to the resource.
  ///
  /// An issuer that cannot be reached is `server_unreachable` and its like, as a resource would be; every response of
  /// the issuer is `device_not_authenticated`, with its code and status in `upstream`.
  init(_ error: TokenError, issuer: String) {
    let detail = "no token from issuer \(issuer): \(error.detail)"
    var code = ErrorCode.deviceNotAuthenticated
    var upstream: UpstreamFault?
    var retryAfter: Duration?
    switch error.kind {
    case .unreachable(let transport):
      code = Self.code(ofTokenExchange: transport)
      upstream = UpstreamFault(status: transport.proxy?.status)
    case .discovery(let failure):
      if let transport = failure.transport {
        code = Self.code(ofTokenExchange: transport)
        upstream = UpstreamFault(status: transport.proxy?.status)
      } else {
        upstream = UpstreamFault(status: failure.status, code: failure.kind.code.reason)
      }
    case .rejected(let oauth), .unavailable(let oauth):
      upstream = UpstreamFault(status: error.status, code: oauth?.code, description: oauth?.description)
      retryAfter = error.retryAfter
    case .malformed: upstream = UpstreamFault(status: error.status, code: "invalid_token_response")
    case .assertion(let fault): upstream = UpstreamFault(code: fault.rawValue)
    case .notPossible: break
    case .cancelled: code = .requestCancelled
    case .deadlineExceeded: code = .deadlineExceeded
    }
    self.init(code, detail, upstream: upstream, retryable: error.isRetryable, retryAfter: retryAfter)
    self.issuer = issuer
    proxyFault = error.proxyFault
  }

  /// The error of a fetch for which an inbound token was not exchanged: nothing went to the resource.
  ///
  /// The issuer's rejection is `token_endpoint_error`, or `interaction_required` where the user can do something about
  /// it; an issuer that cannot be reached is `server_unreachable` and its like.
  package init(ofExchange error: TokenError, issuer: String) {
    let base = ResourceError(error, issuer: issuer)
    var code = base.code
    if base.code == .deviceNotAuthenticated {
      let isReached = error.isAnswered || error.isNotPossible
      code =
        error.oauthError?.interaction != nil
        ? .interactionRequired : isReached ? .tokenEndpointError : .tokenEndpointUnreachable
    }
    self.init(
      code, base.detail, upstream: base.upstream, retryable: base.retryable, retryAfter: base.retryAfter,
      interaction: code == .interactionRequired ? error.oauthError?.interaction : nil)
    self.issuer = issuer
  }

  /// The token request has a time limit of its own: running into it is the issuer's fault, not the caller's deadline.
  private static func code(ofTokenExchange error: TransportError) -> ErrorCode {
    error.code == .timedOut || error.code == .cancelled ? .serverUnreachable : error.code.errorCode
  }
}

extension TokenError {
  /// Whether the configuration or the metadata allowed no request.
  fileprivate var isNotPossible: Bool { if case .notPossible = kind { true } else { false } }
}
