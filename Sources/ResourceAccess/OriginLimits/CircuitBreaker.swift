package import PosternSupport

/// A circuit breaker: counts failures in a row, and rejects requests for a while. Without input and output; time comes
/// from outside.
package struct CircuitBreaker: Sendable {
  /// The result of an exchange, as far as it concerns the server.
  package enum Verdict: Sendable {
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
  package enum Change: Sendable {
    /// From now on requests are rejected.
    case opened
    /// Requests are accepted again.
    case closed
  }

  private var state = State.closed(failures: 0)

  /// Whether it is closed and without failures.
  var isPristine: Bool { if case .closed(0) = state { true } else { false } }

  /// Its state, for status reports.
  package func circuit(at now: MonotonicInstant) -> OriginState.Circuit {
    switch state {
    case .closed: .closed
    case .probing: .halfOpen
    case .open(let until): until > now ? .open : .halfOpen
    }
  }

  /// How long requests are rejected; nil when one may be sent. During a probe that is a second at most, and never
  /// longer than the breaker was open: a probe that is paused, or gets its response slowly, does not keep the others
  /// away.
  package func openTime(at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Duration? {
    guard rule != nil else { return nil }
    switch state {
    case .closed: return nil
    case .probing(let until): return until > now ? min(.seconds(1), until - now) : nil
    case .open(let until): return until > now ? until - now : nil
    }
  }

  /// Starts a request; true when it is a probe.
  package mutating func begin(_ rule: OriginLimits.Breaker?, at now: MonotonicInstant) -> Bool {
    guard let rule else {
      state = .closed(failures: 0)
      return false
    }
    if case .closed = state { return false }
    state = .probing(until: now + rule.openFor)
    return true
  }

  /// Ends a request. One that started before the breaker opened changes nothing any more.
  package mutating func end(
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

/// The circuit breakers of one origin, one for each uid: the failures of one uid's requests (to a path that always
/// answers 503, say) do not show whether another uid's will fail.
package struct OriginBreakers: Sendable {
  /// How many uids have a breaker; a further one has none.
  package static let bound = 256

  /// The breakers that have failures.
  private var breakers: [UInt32: CircuitBreaker] = [:]

  /// Whether none has failures.
  var isPristine: Bool { breakers.isEmpty }

  /// The state of the worst of them.
  package func circuit(at now: MonotonicInstant) -> OriginState.Circuit {
    let circuits = breakers.values.map { $0.circuit(at: now) }
    return circuits.contains(.open) ? .open : circuits.contains(.halfOpen) ? .halfOpen : .closed
  }

  /// How long requests of `uid` are rejected; nil when one may be sent.
  package func openTime(of uid: UInt32, at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Duration? {
    breakers[uid]?.openTime(at: now, rule)
  }

  /// Starts a request of `uid`; true when it is a probe.
  package mutating func begin(_ uid: UInt32, at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Bool {
    change(uid) { $0.begin(rule, at: now) }
  }

  /// Ends a request of `uid`.
  package mutating func end(
    _ uid: UInt32, _ verdict: CircuitBreaker.Verdict, isProbe: Bool, at now: MonotonicInstant,
    _ rule: OriginLimits.Breaker?
  ) -> CircuitBreaker.Change? {
    // Without a rule the others' breakers are obsolete as well.
    if rule == nil { breakers = [:] }
    return change(uid) { $0.end(verdict, isProbe: isProbe, at: now, rule) }
  }

  private mutating func change<Value>(_ uid: UInt32, _ body: (inout CircuitBreaker) -> Value) -> Value {
    var breaker = breakers[uid] ?? CircuitBreaker()
    let value = body(&breaker)
    let isKept = !breaker.isPristine && (breakers[uid] != nil || breakers.count < Self.bound)
    breakers[uid] = isKept ? breaker : nil
    return value
  }
}
