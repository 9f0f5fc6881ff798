package import PosternSupport

/// One origin of a resource: its circuit breakers, and behind them its slots and their queue
/// (`ConcurrencyLimiterState`). Without input and output; time comes from outside.
///
/// Slots that have been in use for longer than `OriginLimits.patience` (suspended tasks and endless streams, most of
/// all) do not count for uids that have none.
package struct OriginSlots<Waiter: Sendable>: Sendable {
  /// The outcome of a request for a slot.
  package enum Entry {
    case admitted(OriginSlot)
    case mustWait
    case rejected(OriginLimiter.Rejection)
  }

  /// A waiter and its outcome.
  package typealias Outcome = (waiter: Waiter, result: Result<OriginSlot, OriginLimiter.Rejection>)
  package typealias Slots = ConcurrencyLimiterState<OriginLimiter.Key, Waiter>
  package typealias WaiterID = Slots.WaiterID

  /// As in the latest request.
  package var limits: OriginLimits {
    didSet { slots.limits = Self.slotLimits(limits) }
  }
  package private(set) var breakers = OriginBreakers()
  /// When a slot was requested or given back last.
  private(set) var changedAt = MonotonicInstant(nanoseconds: 0)
  private let key: OriginLimiter.Key
  private var slots: Slots
  /// Since when the slots have been in use, the earliest first.
  private var since: [MonotonicInstant] = []

  package init(_ key: OriginLimiter.Key, limits: OriginLimits) {
    self.key = key
    self.limits = limits
    slots = Slots(Self.slotLimits(limits))
  }

  package var inFlight: Int { slots.inFlight }
  package var waitingCount: Int { slots.waitingCount }
  /// Whether it can be dropped without losing anything but the state of breakers.
  var isUnused: Bool { slots.isIdle }
  /// Whether it can be dropped without losing anything.
  package var isIdle: Bool { isUnused && breakers.isPristine }

  /// Takes a slot for `peer`, if one is free for it. Call `settle` first: waiters take precedence.
  package mutating func enter(for peer: PeerID, at now: MonotonicInstant) -> Entry {
    changedAt = now
    if let pause = openTime(of: peer, at: now) { return .rejected(.open(pause)) }
    return slots.tryEnter(key, for: peer, overflow: isOverdue(at: now)) ? .admitted(admit(peer, at: now)) : .mustWait
  }

  /// Puts `waiter` into the queue; nil: the queue is full. Another waiter may have to leave a full queue.
  package mutating func enqueue(
    _ waiter: Waiter, number: UInt64, for peer: PeerID, isReturning: Bool
  ) -> (waiterID: WaiterID, displaced: Waiter?)? {
    slots.enqueue(waiter, number: number, key, for: peer, isReturning: isReturning)
  }

  /// Takes a waiter out of the queue; nil when it is not there any more.
  package mutating func remove(_ waiterID: WaiterID) -> Waiter? { slots.remove(waiterID) }

  /// Gives a slot back. Returns what that changes of the uid's breaker.
  package mutating func leave(
    _ slot: OriginSlot, _ verdict: CircuitBreaker.Verdict, at now: MonotonicInstant
  ) -> CircuitBreaker.Change? {
    changedAt = now
    slots.leave(key, for: slot.peer)
    if let index = since.firstIndex(of: slot.since) { since.remove(at: index) }
    return breakers.end(slot.peer.uid, verdict, isProbe: slot.isProbe, at: now, limits.breaker)
  }

  /// Rejects the waiters whose breaker is open, and admits those for which there is a slot.
  package mutating func settle(at now: MonotonicInstant) -> [Outcome] {
    guard slots.waitingCount > 0 else { return [] }
    var outcomes: [Outcome] = []
    if !breakers.isPristine {
      let (breakers, rule) = (self.breakers, limits.breaker)
      var pauses: [Duration] = []
      let rejected = slots.removeAll { _, peer in
        guard let pause = breakers.openTime(of: peer.uid, at: now, rule) else { return false }
        pauses.append(pause)
        return true
      }
      outcomes = zip(rejected, pauses).map { ($0, .failure(.open($1))) }
    }
    // A waiter's uid may have sent its probe a moment ago.
    while let next = nextWaiter(at: now) {
      outcomes.append((next.waiter, .success(admit(next.peer, at: now))))
    }
    return outcomes
  }

  private mutating func nextWaiter(at now: MonotonicInstant) -> (waiter: Waiter, peer: PeerID)? {
    let (breakers, rule) = (self.breakers, limits.breaker)
    return slots.next(overflow: isOverdue(at: now)) { breakers.openTime(of: $0.uid, at: now, rule) == nil }
  }

  private mutating func admit(_ peer: PeerID, at now: MonotonicInstant) -> OriginSlot {
    since.insert(now, at: since.lastIndex { $0 <= now }.map { $0 + 1 } ?? 0)
    return OriginSlot(peer: peer, since: now, isProbe: breakers.begin(peer.uid, at: now, limits.breaker))
  }

  private func openTime(of peer: PeerID, at now: MonotonicInstant) -> Duration? {
    breakers.openTime(of: peer.uid, at: now, limits.breaker)
  }

  /// Whether uids without a slot need not wait: as many slots as the limit have been in use for the whole `patience`.
  private func isOverdue(at now: MonotonicInstant) -> Bool {
    guard let capacity = limits.concurrency, let patience = limits.patience,
      let latest = since.suffix(max(capacity, 0)).first
    else { return false }
    return latest + patience <= now
  }

  private static func slotLimits(_ limits: OriginLimits) -> Slots.Limits {
    Slots.Limits(capacity: limits.concurrency ?? .max, queue: limits.queue, sharing: .displacement)
  }
}

/// A slot of an origin; to be given back once.
package struct OriginSlot: Sendable {
  package let peer: PeerID
  /// When it was taken.
  package let since: MonotonicInstant
  /// Whether it is the request by which the breaker finds out about the server.
  package let isProbe: Bool
}
