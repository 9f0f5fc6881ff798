import HTTPMessages
import OAuthClient
import PosternSupport

/// What an exchange says about its server, for the breaker.
extension FetchOperation {
  /// A gateway that says its server is not there says so of the server.
  func verdict(on response: HTTPResponse) -> CircuitBreaker.Verdict {
    [502, 503, 504].contains(response.status) ? .failure : .success
  }

  /// Network faults and broken HTTP. TLS is only mended by who knows what was wrong with it, so nothing hides that; and
  /// that a caller was in a hurry says nothing: time that ran out counts where the server had half of the resource's
  /// `timeout`.
  func verdict(on error: ResourceError, since began: MonotonicInstant) -> CircuitBreaker.Verdict {
    switch error.code {
    case .serverUnreachable, .networkUnreachable, .protocolError: .failure
    case .deadlineExceeded: hadHalfOfTheTime(since: began) ? .failure : .neither
    default: .neither
    }
  }

  private func hadHalfOfTheTime(since began: MonotonicInstant) -> Bool {
    let now = upstream.clock.monotonicNow
    let held = options.control?.heldTime(at: now) ?? .zero
    return now - began - held >= server.timeout / 2
  }
}
