import Support

/// Counts failures in a row, and says who may go. Without input and output; time comes from outside.
struct CircuitBreaker: Sendable {
  /// What an exchange says about its server.
  enum Verdict: Sendable {
    /// It is there.
    case success
    /// It is not, or not in order.
    case failure
    /// Nothing: the exchange was ended on this side.
    case neither
  }

  private enum State {
    case closed(failures: Int)
    case open(until: MonotonicInstant)
    case probing
  }

  private var state = State.closed(failures: 0)

  /// Whether there is nothing to be remembered.
  var isPristine: Bool { if case .closed(0) = state { true } else { false } }

  /// Where it stands for whoever looks on.
  func circuit(at now: MonotonicInstant) -> OriginState.Circuit {
    switch state {
    case .closed: .closed
    case .probing: .halfOpen
    case .open(let until): until > now ? .open : .halfOpen
    }
  }

  /// How long nobody may go; nil when somebody may. While one is under way to see, that is a second at most.
  func refusal(at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Duration? {
    guard let rule else { return nil }
    switch state {
    case .closed: return nil
    case .probing: return min(.seconds(1), rule.openFor)
    case .open(let until): return until > now ? until - now : nil
    }
  }

  /// One goes; true when it is the one that goes to see.
  mutating func begin(_ rule: OriginLimits.Breaker?) -> Bool {
    guard rule != nil else {
      state = .closed(failures: 0)
      return false
    }
    guard case .open = state else { return false }
    state = .probing
    return true
  }

  /// One is back; true when the breaker opens for it. Those who went before it opened change nothing any more.
  mutating func end(_ verdict: Verdict, isProbe: Bool, at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Bool
  {
    guard let rule else { return false }
    switch (state, verdict) {
    case (.probing, .success) where isProbe: state = .closed(failures: 0)
    case (.probing, .failure) where isProbe:
      state = .open(until: now + rule.openFor)
      return true
    // The next one goes to see.
    case (.probing, .neither) where isProbe: state = .open(until: now)
    case (.closed, .success): state = .closed(failures: 0)
    case (.closed(let failures), .failure):
      guard failures + 1 < rule.failures else {
        state = .open(until: now + rule.openFor)
        return true
      }
      state = .closed(failures: failures + 1)
    default: break
    }
    return false
  }
}
