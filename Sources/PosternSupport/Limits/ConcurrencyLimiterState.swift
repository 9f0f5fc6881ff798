/// The slots of a concurrency limit and the queue in front of them: a state machine without input, output and time.
///
/// A free slot goes to the uid with the fewest slots, and among those to the one served longest ago (`Rotation`); of
/// the uid's connections likewise; each connection's waiters keep their order. A waiter never waits for a slot that
/// only another key lacks. Call `next` until it returns nil after everything that may free a slot: then no waiter waits
/// that could run.
public struct ConcurrencyLimiterState<Key: Hashable & Sendable, Waiter> {
  /// The bounds.
  public struct Limits: Sendable, Hashable {
    /// All slots.
    public var capacity: Int
    /// The slots of one key.
    public var capacityPerKey: Int
    /// The slots of one uid.
    public var capacityPerUID: Int
    /// The length of the queue.
    public var queue: Int
    /// How uids share the slots and the queue.
    public var sharing: Sharing

    /// Limits; what is not given is unlimited.
    public init(
      capacity: Int = .max, capacityPerKey: Int = .max, capacityPerUID: Int = .max, queue: Int = .max, sharing: Sharing
    ) {
      self.capacity = capacity
      self.capacityPerKey = capacityPerKey
      self.capacityPerUID = capacityPerUID
      self.queue = queue
      self.sharing = sharing
    }
  }

  /// How uids share the slots and the queue. `PeerID.process` is exempt from shares.
  public enum Sharing: Sendable, Hashable {
    /// A uid gets at most its `FairShare` of the slots, of each key's slots and of the queue, so that there is a slot
    /// for a uid that has none, with a capacity of four or more; with `perConnection` a connection gets at most that
    /// share of its uid's slots, too.
    case thresholds(perConnection: Bool)
    /// A uid may use all slots and the whole queue. In a full queue a waiter takes the position of the last waiter of
    /// the uid that has the most there, where that is at least two more than its own uid has: two uids never displace
    /// each other alternately.
    case displacement
  }

  /// Identifies a waiter.
  public struct WaiterID: Sendable, Hashable {
    fileprivate let line: Line
    fileprivate let number: UInt64
  }

  /// The waiters of one peer for one key.
  fileprivate struct Line: Sendable, Hashable {
    let key: Key
    let peer: PeerID
  }

  private struct Holding: Hashable {
    let key: Key
    let uid: UInt32
  }

  /// The bounds; after a change `next` may return waiters.
  public var limits: Limits
  /// The slots in use.
  public private(set) var inFlight = 0
  private var inFlightByKey = Counts<Key>()
  private var inFlightByHolding = Counts<Holding>()
  private var inFlightByUID = Counts<UInt32>()
  private var inFlightByPeer = Counts<PeerID>()
  private var waiters: [UInt64: Waiter] = [:]
  private var lines: [Line: NumberQueue] = [:]
  private var uids = Rotation<UInt32>()
  private var peers = Rotation<PeerID>()

  /// A limiter whose slots are all free.
  public init(_ limits: Limits) { self.limits = limits }

  /// The length of the queue.
  public var waitingCount: Int { waiters.count }
  /// Whether no slot is in use and the queue is empty.
  public var isIdle: Bool { inFlight == 0 && waiters.isEmpty }
  /// The waiters, in no order.
  public var waiting: some Collection<Waiter> { waiters.values }

  /// Takes a slot, if `peer` may have one now. With `overflow` a uid that has no slot gets one although none is free.
  public mutating func tryEnter(_ key: Key, for peer: PeerID, overflow: Bool = false) -> Bool {
    let line = Line(key: key, peer: peer)
    guard lines.isEmpty || lines[line] == nil, hasSlot(for: line, overflow) else { return false }
    take(line)
    return true
  }

  /// Puts a waiter into the queue, after those of its connection with smaller numbers; no two have the same number. One
  /// that `isReturning` was in the queue before, and is not subject to the queue's length. Returns nil when the queue
  /// is full. `displaced` is the waiter that lost its position to this one.
  public mutating func enqueue(
    _ waiter: Waiter, number: UInt64, _ key: Key, for peer: PeerID, isReturning: Bool = false
  ) -> (waiterID: WaiterID, displaced: Waiter?)? {
    var displaced: Waiter?
    if !isReturning {
      switch limits.sharing {
      case .thresholds:
        let free = limits.queue - waiters.count
        guard free > 0, peer == .process || FairShare.allows(uids.count(of: peer.uid), free: free) else { return nil }
      case .displacement:
        guard waiters.count < limits.queue || displaceable(by: peer) != nil else { return nil }
        if waiters.count >= limits.queue { displaced = displaceable(by: peer).flatMap { remove($0) } }
      }
    }
    let line = Line(key: key, peer: peer)
    waiters[number] = waiter
    lines[line, default: NumberQueue()].insert(number)
    uids.add(peer.uid)
    peers.add(peer)
    return (WaiterID(line: line, number: number), displaced)
  }

  /// Takes a waiter out of the queue; nil when it is not there any more.
  public mutating func remove(_ waiterID: WaiterID) -> Waiter? { remove(waiterID, isServed: false) }

  /// Takes the waiters out of the queue that `isOver` selects.
  public mutating func removeAll(where isOver: (Waiter, PeerID) -> Bool) -> [Waiter] {
    var waiterIDs: [WaiterID] = []
    for (line, numbers) in lines {
      for number in numbers.elements {
        if let waiter = waiters[number], isOver(waiter, line.peer) {
          waiterIDs.append(WaiterID(line: line, number: number))
        }
      }
    }
    return waiterIDs.compactMap { remove($0) }
  }

  /// Gives the slot of the next waiter that may run to it, and takes it out of the queue. nil: none may run.
  public mutating func next(
    overflow: Bool = false, where mayRun: (PeerID) -> Bool = { _ in true }
  ) -> (waiter: Waiter, peer: PeerID)? {
    guard !waiters.isEmpty, overflow || inFlight < limits.capacity else { return nil }
    typealias Rank = (Int, UInt64, Int, UInt64, UInt64)
    var best: (waiterID: WaiterID, rank: Rank)?
    for (line, numbers) in lines {
      guard let number = numbers.first, hasSlot(for: line, overflow) else { continue }
      let rank: Rank = (
        inFlightByUID[line.peer.uid], uids.position(of: line.peer.uid), inFlightByPeer[line.peer],
        peers.position(of: line.peer), number
      )
      guard best.map({ rank < $0.rank }) ?? true, mayRun(line.peer) else { continue }
      best = (WaiterID(line: line, number: number), rank)
    }
    guard let waiterID = best?.waiterID, let waiter = remove(waiterID, isServed: true) else { return nil }
    take(waiterID.line)
    return (waiter, waiterID.line.peer)
  }

  /// Gives a slot back.
  public mutating func leave(_ key: Key, for peer: PeerID) {
    inFlight -= 1
    inFlightByKey.decrement(key)
    inFlightByHolding.decrement(Holding(key: key, uid: peer.uid))
    inFlightByUID.decrement(peer.uid)
    inFlightByPeer.decrement(peer)
  }

  private mutating func take(_ line: Line) {
    inFlight += 1
    inFlightByKey.increment(line.key)
    inFlightByHolding.increment(Holding(key: line.key, uid: line.peer.uid))
    inFlightByUID.increment(line.peer.uid)
    inFlightByPeer.increment(line.peer)
  }

  private func hasSlot(for line: Line, _ overflow: Bool) -> Bool {
    let uid = line.peer.uid
    let own = inFlightByUID[uid]
    let (free, freeOfKey) = (limits.capacity - inFlight, limits.capacityPerKey - inFlightByKey[line.key])
    guard free > 0, freeOfKey > 0 else { return overflow && own == 0 }
    guard own < limits.capacityPerUID else { return false }
    guard case .thresholds(let perConnection) = limits.sharing, line.peer != .process else { return true }
    let ownOfKey = inFlightByHolding[Holding(key: line.key, uid: uid)]
    guard FairShare.allows(own, free: free), FairShare.allows(ownOfKey, free: freeOfKey) else { return false }
    return !perConnection || FairShare.allows(inFlightByPeer[line.peer], free: FairShare.remainder(own, free: free))
  }

  private mutating func remove(_ waiterID: WaiterID, isServed: Bool) -> Waiter? {
    guard let waiter = waiters.removeValue(forKey: waiterID.number) else { return nil }
    lines[waiterID.line]?.remove(waiterID.number)
    if lines[waiterID.line]?.first == nil { lines[waiterID.line] = nil }
    uids.remove(waiterID.line.peer.uid, isServed: isServed)
    peers.remove(waiterID.line.peer, isServed: isServed)
    return waiter
  }

  /// The last waiter of the uid that has the most in the queue, if it may be displaced by one of `peer`.
  private func displaceable(by peer: PeerID) -> WaiterID? {
    guard let largest = uids.largest, largest.count > uids.count(of: peer.uid) + 1 else { return nil }
    let waiterIDs = lines.lazy.filter { $0.key.peer.uid == largest.id }.compactMap { line, numbers in
      numbers.last.map { WaiterID(line: line, number: $0) }
    }
    return waiterIDs.max { $0.number < $1.number }
  }
}

extension ConcurrencyLimiterState: Sendable where Waiter: Sendable {}

/// Counts by key; a key that is not there counts zero.
private struct Counts<Key: Hashable> {
  private var counts: [Key: Int] = [:]

  subscript(key: Key) -> Int { counts[key] ?? 0 }

  mutating func increment(_ key: Key) { counts[key, default: 0] += 1 }

  mutating func decrement(_ key: Key) {
    guard let count = counts[key] else { return }
    counts[key] = count > 1 ? count - 1 : nil
  }
}

extension Counts: Sendable where Key: Sendable {}

/// Numbers in ascending order. Taking the first one out costs constant time on average.
private struct NumberQueue: Sendable {
  private var numbers: [UInt64] = []
  private var head = 0

  var first: UInt64? { head < numbers.count ? numbers[head] : nil }
  var last: UInt64? { head < numbers.count ? numbers.last : nil }
  var elements: ArraySlice<UInt64> { numbers[head...] }

  mutating func insert(_ number: UInt64) {
    numbers.insert(number, at: numbers[head...].lastIndex { $0 < number }.map { $0 + 1 } ?? head)
  }

  mutating func remove(_ number: UInt64) {
    guard let index = elements.first == number ? head : position(of: number) else { return }
    guard index == head else {
      numbers.remove(at: index)
      return
    }
    head += 1
    guard head > 64, head > numbers.count / 2 else { return }
    numbers.removeFirst(head)
    head = 0
  }

  private func position(of number: UInt64) -> Int? {
    var (low, high) = (head, numbers.count)
    while low < high {
      let middle = low + (high - low) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low < numbers.count && numbers[low] == number ? low : nil
  }
}

extension ConcurrencyLimiterState: ConciseStringConvertible {
  /// How many operations run, and how many wait.
  public var description: String { "\(inFlight) in flight, \(waitingCount) waiting" }
}

extension ConcurrencyLimiterState.Limits: ConciseStringConvertible {
  /// The capacities.
  public var description: String {
    let parts = [("capacity", capacity), ("per key", capacityPerKey), ("per uid", capacityPerUID), ("queue", queue)]
    return parts.map { "\($0) \(Concise.capacity($1))" }.joined(separator: ", ")
  }
}

extension ConcurrencyLimiterState.Sharing: ConciseStringConvertible {
  /// The rule of sharing.
  public var description: String {
    switch self {
    case .thresholds(let perConnection): "thresholds per \(perConnection ? "connection" : "uid")"
    case .displacement: "displacement"
    }
  }
}

extension ConcurrencyLimiterState.WaiterID: ConciseStringConvertible {
  /// The waiter's number.
  public var description: String { "waiter \(number)" }
}
