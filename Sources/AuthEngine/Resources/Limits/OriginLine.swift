import Support

/// One origin: who is inside, who waits, and its breaker. Who has fewest inside goes first, among equals who came first.
struct OriginLine<Waiter: Sendable>: Sendable {
  /// What becomes of one that comes.
  enum Entry {
    /// It goes.
    case admitted(isProbe: Bool)
    /// It must wait.
    case mustWait
    /// It is refused.
    case refused(OriginGate.Refusal)
  }

  /// As the latest one that came had them.
  var limits: OriginLimits
  private(set) var breaker = CircuitBreaker()
  private(set) var inside = 0
  private(set) var waiting: [(number: UInt64, requester: Requester, waiter: Waiter)] = []
  private var load = RequesterLoad()
  /// When something happened last.
  private(set) var changedAt = MonotonicInstant(nanoseconds: 0)

  init(limits: OriginLimits) { self.limits = limits }

  /// Whether it can be forgotten without loss.
  var isIdle: Bool { isUnused && breaker.isPristine }
  /// Whether nobody is there.
  var isUnused: Bool { inside == 0 && waiting.isEmpty }

  /// One comes, or comes back (`returns`) after it had given its place away.
  mutating func enter(at now: MonotonicInstant, for requester: Requester, returns: Bool) -> Entry {
    changedAt = now
    if let pause = breaker.refusal(at: now, limits.breaker) { return .refused(.open(pause)) }
    let bound = limits.concurrency ?? .max
    guard inside >= bound || !waiting.isEmpty && !returns else {
      inside += 1
      load.add(requester)
      return .admitted(isProbe: breaker.begin(limits.breaker, at: now))
    }
    return waiting.count < limits.queue || returns ? .mustWait : .refused(.full)
  }

  /// One waits, before all that came after it.
  mutating func wait(_ waiter: Waiter, number: UInt64, for requester: Requester) {
    let place = waiting.lastIndex { $0.number < number }.map { $0 + 1 } ?? 0
    waiting.insert((number, requester, waiter), at: place)
  }

  /// One that waits gives up; nil when it does not wait.
  mutating func giveUp(_ number: UInt64) -> Waiter? {
    waiting.firstIndex { $0.number == number }.map { waiting.remove(at: $0).waiter }
  }

  /// One has left. Returns what that has changed of the breaker.
  mutating func leave(
    _ verdict: CircuitBreaker.Verdict, isProbe: Bool, at now: MonotonicInstant, for requester: Requester
  ) -> CircuitBreaker.Change? {
    changedAt = now
    inside -= 1
    load.remove(requester)
    return breaker.end(verdict, isProbe: isProbe, at: now, limits.breaker)
  }

  /// Those who wait and may go now, or, where the breaker is open, all of them as refused.
  mutating func settle(at now: MonotonicInstant) -> [(Waiter, Result<Bool, OriginGate.Refusal>)] {
    if let pause = breaker.refusal(at: now, limits.breaker) {
      defer { waiting = [] }
      return waiting.map { ($0.waiter, .failure(.open(pause))) }
    }
    var admitted: [(Waiter, Result<Bool, OriginGate.Refusal>)] = []
    while inside < limits.concurrency ?? .max, let place = next() {
      inside += 1
      let next = waiting.remove(at: place)
      load.add(next.requester)
      admitted.append((next.waiter, .success(breaker.begin(limits.breaker, at: now))))
      if breaker.refusal(at: now, limits.breaker) != nil { break }
    }
    return admitted
  }

  /// The place in the queue of the one whose turn it is.
  private func next() -> Int? {
    guard let first = waiting.first else { return nil }
    var best = (place: 0, turn: load.turn(of: first.requester))
    for (place, one) in waiting.enumerated() {
      let turn = load.turn(of: one.requester)
      if turn < best.turn { best = (place, turn) }
    }
    return best.place
  }
}
