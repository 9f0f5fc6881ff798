import HTTPMessages
import OAuthClient
import PosternSupport

/// The verdict of an exchange on its server, for the circuit breaker.
extension ResourceExchange {
  /// The errors of a gateway count as the server's.
  func verdict(on response: HTTPResponse) -> CircuitBreaker.Verdict {
    [502, 503, 504].contains(response.status) ? .failure : .success
  }

  /// Network faults and broken HTTP. TLS errors do not count: an operator has to see them to correct them. A timeout
  /// counts where the server had half of the resource's `timeout`, since a caller's own may be short.
  func verdict(on error: ResourceError, since began: MonotonicInstant) -> CircuitBreaker.Verdict {
    switch error.code {
    case .serverUnreachable, .networkUnreachable, .protocolError: .failure
    case .deadlineExceeded: hadHalfOfTheTime(since: began) ? .failure : .neither
    default: .neither
    }
  }

  private func hadHalfOfTheTime(since began: MonotonicInstant) -> Bool {
    let now = clock.monotonicNow
    let paused = control?.pausedTime(at: now) ?? .zero
    return now - began - paused >= server.bounds.timeout / 2
  }
}
