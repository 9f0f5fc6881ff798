package import PosternSupport

/// The pause after a token endpoint said no, doubling up to 30 s.
///
/// Only for refusals, and for as long as a busy server asked for in `Retry-After`: wrong credentials do not get better
/// by asking again at once, and a server that is down costs nobody anything.
package struct TokenBackoff: Sendable {
  let error: TokenError
  let until: MonotonicInstant
  /// The pause after the latest refusal in a row; nil after anything else.
  private let refusalPause: Duration?

  /// The state after `error` at `now`, for a client's own tokens: 1 s after the first refusal in a row. Nil when the
  /// error calls for no pause.
  package init?(after error: TokenError, previous: TokenBackoff?, now: MonotonicInstant) {
    let pause: Duration
    switch error.kind {
    case .refused:
      pause = min(.seconds(30), previous?.refusalPause.map { $0 * 2 } ?? .seconds(1))
      refusalPause = pause
    case .unavailable:
      guard let retryAfter = error.retryAfter, retryAfter > .zero else { return nil }
      pause = retryAfter
      refusalPause = nil
    default: return nil
    }
    self.error = error
    until = now + pause
  }

  /// The state after a renewal of a user's session failed with `error` at `now`: 1 s after the second answer in a row
  /// that was none, be it a refusal or an excuse; the first may be a matter of a moment. Nil when nobody answered.
  package init?(afterRenewal error: TokenError, previous: TokenBackoff?, now: MonotonicInstant) {
    switch error.kind {
    case .refused, .unavailable, .malformed: break
    default: return nil
    }
    let pause = previous.map { min(.seconds(30), max(.seconds(1), ($0.refusalPause ?? .zero) * 2)) } ?? .zero
    refusalPause = pause
    self.error = error
    until = now + max(pause, error.retryAfter ?? .zero)
  }

  /// The error for a caller that comes at `now`, with what is left of the pause; nil when it is over.
  package func refusal(at now: MonotonicInstant) -> TokenError? {
    until > now ? error.waiting(until - now) : nil
  }
}
