import PosternSupport

/// The slots of the transport's exchanges: a bound per key (an origin) and one over all, shared fairly between uids
/// (`ConcurrencyLimiterState`).
///
/// libcurl has such bounds, too, but looks at only one of the waiters when a connection becomes free: behind a slow
/// server's queue the exchanges with another one could wait forever. And it does not know about uids.
struct TransferSlots<Key: Hashable & Sendable, Element> {
  typealias State = ConcurrencyLimiterState<Key, Element>

  /// A slot that is free again at an instant.
  private struct Lingering {
    let key: Key
    let peer: PeerID
    let end: MonotonicInstant
  }

  private var state: State
  private var nextNumber: UInt64 = 0
  private var lingering: [Lingering] = []

  init(capacity: Int, capacityPerKey: Int) {
    state = State(
      State.Limits(
        capacity: max(1, capacity), capacityPerKey: max(1, capacityPerKey),
        sharing: .thresholds(perConnection: false)))
  }

  /// The length of the queue.
  var waitingCount: Int { state.waitingCount }

  /// The waiters, in no order.
  var waiting: some Collection<Element> { state.waiting }

  /// Gives `element` a slot and returns nil, or puts it into the queue.
  mutating func enter(_ element: Element, _ key: Key, for peer: PeerID = .process) -> State.WaiterID? {
    if state.tryEnter(key, for: peer) { return nil }
    defer { nextNumber += 1 }
    // The queue has no bound of its own: callers and their calls do.
    return state.enqueue(element, number: nextNumber, key, for: peer)?.waiterID
  }

  /// Takes a waiter out of the queue; nil when it is not there any more.
  mutating func remove(_ waiterID: State.WaiterID) -> Element? { state.remove(waiterID) }

  /// Gives the next waiter that may run its slot; nil: none may.
  mutating func next() -> Element? { state.next()?.waiter }

  /// Gives a slot back.
  mutating func leave(_ key: Key, for peer: PeerID = .process) { state.leave(key, for: peer) }

  /// Gives a slot back at `end`: its exchange is over, and something of it goes on until then.
  mutating func leave(_ key: Key, for peer: PeerID, lingeringUntil end: MonotonicInstant) {
    lingering.append(Lingering(key: key, peer: peer, end: end))
  }

  /// Gives those slots back whose time is over.
  mutating func releaseLingering(at now: MonotonicInstant) {
    guard lingering.contains(where: { $0.end <= now }) else { return }
    for slot in lingering where slot.end <= now { leave(slot.key, for: slot.peer) }
    lingering.removeAll { $0.end <= now }
  }
}
