import PosternSupport

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
    /// One is under way to see; another may go when it has not come back by then.
    case probing(until: MonotonicInstant)
  }

  /// What one that is back has changed.
  enum Change: Sendable {
    /// From now on nobody may go.
    case opened
    /// Everybody may go again.
    case closed
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

  /// How long nobody may go; nil when somebody may. While one is under way to see, that is a second at most, and never
  /// longer than the breaker was open: one that is held, or takes its answer slowly, does not keep the others away.
  func refusal(at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Duration? {
    guard rule != nil else { return nil }
    switch state {
    case .closed: return nil
    case .probing(let until): return until > now ? min(.seconds(1), until - now) : nil
    case .open(let until): return until > now ? until - now : nil
    }
  }

  /// One goes; true when it is the one that goes to see.
  mutating func begin(_ rule: OriginLimits.Breaker?, at now: MonotonicInstant) -> Bool {
    guard let rule else {
      state = .closed(failures: 0)
      return false
    }
    if case .closed = state { return false }
    state = .probing(until: now + rule.openFor)
    return true
  }

  /// One is back. Those who went before it opened change nothing any more.
  mutating func end(
    _ verdict: Verdict, isProbe: Bool, at now: MonotonicInstant, _ rule: OriginLimits.Breaker?
  ) -> Change? {
    // Whatever a breaker knew that is configured no more must not keep anybody away when there is one again.
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
    // The next one goes to see.
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
