import PosternSupport

/// The circuit breakers of one origin: one for each uid, since what one's requests come to (a path that always answers
/// 503, say) tells another uid nothing about its own.
struct OriginBreakers: Sendable {
  /// How many uids are told apart; a further one has no breaker.
  static let bound = 256

  /// Those about which there is something to be remembered.
  private var breakers: [UInt32: CircuitBreaker] = [:]

  /// Whether there is nothing to be remembered.
  var isPristine: Bool { breakers.isEmpty }

  /// Where the worst of them stands.
  func circuit(at now: MonotonicInstant) -> OriginState.Circuit {
    let circuits = breakers.values.map { $0.circuit(at: now) }
    return circuits.contains(.open) ? .open : circuits.contains(.halfOpen) ? .halfOpen : .closed
  }

  /// How long nobody of `uid` may go; nil when somebody may.
  func refusal(of uid: UInt32, at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Duration? {
    breakers[uid]?.refusal(at: now, rule)
  }

  /// One of `uid` goes; true when it is the one that goes to see.
  mutating func begin(_ uid: UInt32, at now: MonotonicInstant, _ rule: OriginLimits.Breaker?) -> Bool {
    change(uid) { $0.begin(rule, at: now) }
  }

  /// One of `uid` is back.
  mutating func end(
    _ uid: UInt32, _ verdict: CircuitBreaker.Verdict, isProbe: Bool, at now: MonotonicInstant,
    _ rule: OriginLimits.Breaker?
  ) -> CircuitBreaker.Change? {
    // With no rule what the others' breakers knew is out of date as well.
    if rule == nil { breakers = [:] }
    return change(uid) { $0.end(verdict, isProbe: isProbe, at: now, rule) }
  }

  private mutating func change<Value>(_ uid: UInt32, _ body: (inout CircuitBreaker) -> Value) -> Value {
    var breaker = breakers[uid] ?? CircuitBreaker()
    let value = body(&breaker)
    let isRemembered = !breaker.isPristine && (breakers[uid] != nil || breakers.count < Self.bound)
    breakers[uid] = isRemembered ? breaker : nil
    return value
  }
}
