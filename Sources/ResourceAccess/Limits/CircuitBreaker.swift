import PosternSupport

/// A circuit breaker: counts failures in a row, and rejects requests for a while. Without input and output; time comes
/// from outside.
struct CircuitBreaker: Sendable {
  /// The result of an exchange, as far as it concerns the server.
  enum Verdict: Sendable {
    /// It works.
    case success
    /// It does not.
    case failure
    /// Unknown: the exchange was ended on this side.
    case neither
  }

  private enum State {
    case closed(failures: Int)
    case open(until: MonotonicInstant)
    /// A probe is in flight; another one may be sent when it has not ended by then.
    case probing(until: MonotonicInstant)
  }

  /// A change of state after an exchange.
  enum Change: Sendable {
    /// From now on requests are rejected.
    case opened
    /// Requests are accepted again.
    case closed
  }

  private var state = State.closed(failures: 0)

  /// Whether it is closed and without failures.
  var isPristine: Bool { if case .closed(0) = state { true } else { false } }

  /// Its state, for status reports.
  func circuit(at now: MonotonicInstant) -> OriginState.Circuit {
    switch state {
    case .closed: .closed
    case .probing: .halfOpen
    case .open(let until): until > now ? .open : .halfOpen
    }
  }

  /// How long requests are rejected; nil when one may be sent. During a probe that is a second at most, and never
  /// longer than the breaker was open: a probe that is paused, or gets its response slowly, does not keep the others
  /// away.
  func openTime(at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Duration? {
    guard rule != nil else { return nil }
    switch state {
    case .closed: return nil
    case .probing(let until): return until > now ? min(.seconds(1), until - now) : nil
    case .open(let until): return until > now ? until - now : nil
    }
  }

  /// Starts a request; true when it is a probe.
  mutating func begin(_ rule: OriginLimits.Breaker?, at now: MonotonicInstant) -> Bool {
    guard let rule else {
      state = .closed(failures: 0)
      return false
    }
    if case .closed = state { return false }
    state = .probing(until: now + rule.openFor)
    return true
  }

  /// Ends a request. One that started before the breaker opened changes nothing any more.
  mutating func end(
    _ verdict: Verdict, isProbe: Bool, at now: MonotonicInstant, _ rule: OriginLimits.Breaker?
  ) -> Change? {
    // The state of a breaker that is not configured any more must not apply when there is one again.
    guard let rule else {
      state = .closed(failures: 0)
      return nil
    }
    switch (state, verdict) {
    case (.probing, .success) where isProbe:
      state = .closed(failures: 0)
      return .closed
    case (.probing, .failure) where isProbe:
      state = .open(until: now + rule.openFor)
      return .opened
    // The next one is the probe.
    case (.probing, .neither) where isProbe: state = .open(until: now)
    case (.closed, .success): state = .closed(failures: 0)
    case (.closed(let failures), .failure):
      guard failures + 1 < rule.failures else {
        state = .open(until: now + rule.openFor)
        return .opened
      }
      state = .closed(failures: failures + 1)
    default: break
    }
    return nil
  }
}
