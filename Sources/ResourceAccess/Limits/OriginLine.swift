import PosternSupport

/// One origin: who is inside, who waits, and the breakers. The uid goes first that has fewest inside, equals by turns;
/// of a uid the connection that has fewest, then who came first.
struct OriginLine<Waiter: Sendable>: Sendable {
  /// What becomes of one that comes.
  enum Entry {
    /// It goes.
    case admitted(OriginPass)
    /// It must wait.
    case mustWait
    /// It is refused.
    case refused(OriginGate.Refusal)
  }

  /// A wait that is over.
  typealias Settled = (waiter: Waiter, result: Result<OriginPass, OriginGate.Refusal>)

  /// As the latest one that came had them.
  var limits: OriginLimits
  private(set) var breakers = OriginBreakers()
  private(set) var waiting: [(number: UInt64, requester: Requester, waiter: Waiter)] = []
  private var places = OriginPlaces()
  private var turns = RequesterTurns()
  /// When something happened last.
  private(set) var changedAt = MonotonicInstant(nanoseconds: 0)

  init(limits: OriginLimits) { self.limits = limits }

  /// How many are inside.
  var inside: Int { places.count }
  /// Whether it can be forgotten without loss.
  var isIdle: Bool { isUnused && breakers.isPristine }
  /// Whether nobody is there.
  var isUnused: Bool { inside == 0 && waiting.isEmpty }

  /// One comes, or comes back (`returns`) after it had given its place away. Of those that wait none may go: see
  /// `settle`.
  mutating func enter(at now: MonotonicInstant, for requester: Requester, returns: Bool) -> Entry {
    changedAt = now
    if let pause = refusal(of: requester, at: now) { return .refused(.open(pause)) }
    if places.admits(requester, places.room(limits, at: now)) { return .admitted(admit(requester, at: now)) }
    return returns || waiting.count < limits.queue || displaced(for: requester) != nil ? .mustWait : .refused(.full)
  }

  /// One waits, before all that came after it. Returns the one that has to leave a full queue for it.
  mutating func wait(_ waiter: Waiter, number: UInt64, for requester: Requester, returns: Bool) -> Settled? {
    let leaving = returns || waiting.count < limits.queue ? nil : displaced(for: requester)
    let settled = leaving.map { Settled(remove(at: $0, goes: false).waiter, .failure(.full)) }
    let place = waiting.lastIndex { $0.number < number }.map { $0 + 1 } ?? 0
    waiting.insert((number, requester, waiter), at: place)
    turns.come(requester.uid)
    return settled
  }

  /// One that waits gives up; nil when it does not wait.
  mutating func giveUp(_ number: UInt64) -> Waiter? {
    waiting.firstIndex { $0.number == number }.map { remove(at: $0, goes: false).waiter }
  }

  /// One has left. Returns what that has changed of its breaker.
  mutating func leave(
    _ pass: OriginPass, _ verdict: CircuitBreaker.Verdict, at now: MonotonicInstant
  ) -> CircuitBreaker.Change? {
    changedAt = now
    places.giveBack(pass.requester, since: pass.since)
    return breakers.end(pass.requester.uid, verdict, isProbe: pass.isProbe, at: now, limits.breaker)
  }

  /// Those who wait and may go now, and, as refused, those whose breaker is open.
  mutating func settle(at now: MonotonicInstant) -> [Settled] {
    var settled: [Settled] = []
    guard !waiting.isEmpty else { return [] }
    if !breakers.isPristine {
      for place in waiting.indices.reversed() {
        guard let pause = refusal(of: waiting[place].requester, at: now) else { continue }
        settled.append((remove(at: place, goes: false).waiter, .failure(.open(pause))))
      }
    }
    while let place = next(at: now) {
      let next = remove(at: place, goes: true)
      settled.append((next.waiter, .success(admit(next.requester, at: now))))
    }
    return settled
  }

  private mutating func admit(_ requester: Requester, at now: MonotonicInstant) -> OriginPass {
    places.take(requester, at: now)
    let isProbe = breakers.begin(requester.uid, at: now, limits.breaker)
    return OriginPass(requester: requester, since: now, isProbe: isProbe)
  }

  private func refusal(of requester: Requester, at now: MonotonicInstant) -> Duration? {
    breakers.refusal(of: requester.uid, at: now, limits.breaker)
  }

  /// The place in the queue of the one whose turn it is.
  private func next(at now: MonotonicInstant) -> Int? {
    let room = places.room(limits, at: now)
    guard room != .nobody else { return nil }
    var best: (place: Int, turn: (Int, UInt64, Int))?
    for (place, one) in waiting.enumerated() {
      let load = places.turn(of: one.requester)
      let turn = (load.uid, turns.turn(of: one.requester.uid), load.connection)
      guard best.map({ turn < $0.turn }) ?? true, places.admits(one.requester, room) else { continue }
      // One of its uid may have gone to see a moment ago.
      if refusal(of: one.requester, at: now) == nil { best = (place, turn) }
    }
    return best?.place
  }

  private mutating func remove(at place: Int, goes: Bool) -> (number: UInt64, requester: Requester, waiter: Waiter) {
    let removed = waiting.remove(at: place)
    turns.leave(removed.requester.uid, goes: goes)
    return removed
  }

  /// The place in a full queue of the one that has to leave it for `requester`: the last one of the uid that has most
  /// there, where that is at least two more, so that the two never drive out each other by turns.
  private func displaced(for requester: Requester) -> Int? {
    guard let most = turns.most, most.count > turns.count(of: requester.uid) + 1 else { return nil }
    return waiting.lastIndex { $0.requester.uid == most.uid }
  }
}

/// What one has that is inside.
struct OriginPass: Sendable {
  /// For whom it goes.
  let requester: Requester
  /// When it was let in.
  let since: MonotonicInstant
  /// Whether it is the one that goes to see.
  let isProbe: Bool
}
