import PosternSupport

/// The circuit breakers of one origin, one for each uid: the failures of one uid's requests (to a path that always
/// answers 503, say) do not show whether another uid's will fail.
struct OriginBreakers: Sendable {
  /// How many uids have a breaker; a further one has none.
  static let bound = 256

  /// The breakers that have failures.
  private var breakers: [UInt32: CircuitBreaker] = [:]

  /// Whether none has failures.
  var isPristine: Bool { breakers.isEmpty }

  /// The state of the worst of them.
  func circuit(at now: MonotonicInstant) -> OriginState.Circuit {
    let circuits = breakers.values.map { $0.circuit(at: now) }
    return circuits.contains(.open) ? .open : circuits.contains(.halfOpen) ? .halfOpen : .closed
  }

  /// How long requests of `uid` are rejected; nil when one may be sent.
  func openTime(of uid: UInt32, at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Duration? {
    breakers[uid]?.openTime(at: now, rule)
  }

  /// Starts a request of `uid`; true when it is a probe.
  mutating func begin(_ uid: UInt32, at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Bool {
    change(uid) { $0.begin(rule, at: now) }
  }

  /// Ends a request of `uid`.
  mutating func end(
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
