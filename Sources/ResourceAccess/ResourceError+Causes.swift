import HTTPMessages
import OAuthClient

extension ResourceError {
  /// The error of a fetch whose exchange failed. `mayHaveHadEffect` tells that an earlier request of the same fetch was
  /// answered (a redirect).
  init(_ error: TransportError, method: HTTPMethod, mayHaveHadEffect: Bool) {
    let outcome = mayHaveHadEffect ? .replied : error.outcome
    self.init(
      Self.code(of: error), error.detail, outcome: outcome,
      retryable: error.code == .cancelled
        ? nil : error.isTransient && (outcome == .notSent || method.isIdempotent),
      retryAfter: error.code == .descriptorsOut ? .seconds(1) : nil)
  }

  /// The error of a fetch that the limits of `resource` did not let go.
  init(_ refusal: OriginGate.Refusal, resource: String, method: HTTPMethod, mayHaveHadEffect: Bool) {
    let outcome: TransportError.Outcome = mayHaveHadEffect ? .replied : .notSent
    let retryable = !mayHaveHadEffect || method.isIdempotent
    switch refusal {
    case .full:
      self.init(
        .overloaded, "all places of resource \(resource) and of its queue are taken", outcome: outcome,
        retryable: retryable, retryAfter: .seconds(1))
    case .open(let pause):
      self.init(
        .serverUnreachable, "resource \(resource) has failed too often in a row and is left alone for a while",
        outcome: outcome, retryable: retryable, retryAfter: pause)
    case .cancelled: self.init(.requestCancelled, "cancelled while it waited for a place", outcome: outcome)
    case .deadlineExceeded:
      self.init(
        .deadlineExceeded, "the deadline passed while it waited for a place", outcome: outcome, retryable: retryable)
    }
  }

  /// The error of a fetch for which no token could be got: nothing went to the resource.
  ///
  /// The issuer being out of reach is told as what it is (`server_unreachable` and its like, retryable); everything it
  /// answers is `device_not_authenticated` with its words inside.
  init(_ error: TokenError, issuer: String) {
    let detail = "no token from issuer \(issuer): \(error.detail)"
    switch error.kind {
    case .unreachable(let transport):
      self.init(Self.code(ofTokenExchange: transport), detail, retryable: transport.isTransient)
    case .discovery(let failure):
      if let transport = failure.transport {
        self.init(Self.code(ofTokenExchange: transport), detail, retryable: failure.isRetryable)
      } else {
        self.init(
          .deviceNotAuthenticated, detail, upstream: Upstream(status: failure.status, code: failure.kind.rawValue),
          retryable: failure.isRetryable)
      }
    case .refused(let oauth):
      self.init(
        .deviceNotAuthenticated, detail, upstream: Self.upstream(error, oauth), retryable: false,
        retryAfter: error.retryAfter)
    case .unavailable(let oauth):
      self.init(
        .deviceNotAuthenticated, detail, upstream: Self.upstream(error, oauth), retryable: true,
        retryAfter: error.retryAfter)
    case .malformed:
      self.init(
        .deviceNotAuthenticated, detail, upstream: Upstream(status: error.status, code: "invalid_token_response"),
        retryable: false)
    case .notPossible:
      self.init(.deviceNotAuthenticated, detail, retryable: false)
    case .cancelled:
      self.init(.requestCancelled, detail)
    case .deadlineExceeded:
      self.init(.deadlineExceeded, detail, retryable: true)
    }
  }

  private static func upstream(_ error: TokenError, _ oauth: OAuthError?) -> Upstream {
    Upstream(status: error.status, code: oauth?.code, description: oauth?.description)
  }

  /// The token request has a time limit of its own: running into it is the issuer's fault, not the caller's deadline.
  private static func code(ofTokenExchange error: TransportError) -> Code {
    error.code == .timedOut || error.code == .cancelled ? .serverUnreachable : code(of: error)
  }

  private static func code(of error: TransportError) -> Code {
    switch error.code {
    case .networkUnreachable: .networkUnreachable
    case .serverUnreachable: .serverUnreachable
    case .tlsFailure: .tlsFailure
    case .pinMismatch: .pinMismatch
    case .responseTooLarge: .responseTooLarge
    case .invalidURL: .invalidURL
    case .addressNotAllowed: .originNotAllowed
    case .timedOut: .deadlineExceeded
    case .cancelled: .requestCancelled
    case .internalError: .internalError
    case .descriptorsOut: .overloaded
    default: .protocolError
    }
  }
}
