import HTTPMessages
import OAuthClient

extension DecisionFault {
  /// What the absence of a token means: the sidecar's own trouble, never a decision. That nobody answers is an outage;
  /// an answer without a token, whatever its status, leaves the sidecar without credentials.
  init(_ error: TokenError) {
    switch error.kind {
    case .unreachable(let transport):
      self.init(.networkError(error.detail), retry: DecisionFault(transport).retry)
    case .deadlineExceeded, .cancelled: self.init(.networkError(error.detail))
    case .unavailable:
      self.init(
        .accessTokenUnavailable(error.detail),
        retry: .after(error.retryAfter ?? (error.status == 429 ? .seconds(1) : nil)))
    case .refused, .malformed, .discovery, .notPossible: self.init(.accessTokenUnavailable(error.detail))
    }
  }

  /// Whether nobody answered.
  var isOutage: Bool { status.isLocal && status.code == Status.networkError("").code }
}
