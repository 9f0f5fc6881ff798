/// The slots of a concurrency limit and the queue in front of them: a state machine without input, output and time.
///
/// A free slot goes to the uid with the fewest slots, and among those to the one served longest ago (`Rotation`); of
/// the uid's connections likewise; each connection's waiters keep their order. A waiter never waits for a slot that
/// only another key lacks. Call `next` until it returns nil after everything that may free a slot: then no waiter waits
/// that could run.
///
/// Inlinable, so that each use is compiled for its own key: every call and every transfer takes slots.
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
    @usableFromInline let line: Line
    @usableFromInline let number: UInt64

    @inlinable
    init(line: Line, number: UInt64) {
      self.line = line
      self.number = number
    }
  }

  /// The waiters of one peer for one key.
  @usableFromInline struct Line: Sendable, Hashable {
    @usableFromInline let key: Key
    @usableFromInline let peer: PeerID

    @inlinable
    init(key: Key, peer: PeerID) {
      self.key = key
      self.peer = peer
    }

    // Written out: those that are derived are not inlinable.
    @inlinable
    static func == (left: Line, right: Line) -> Bool { left.key == right.key && left.peer == right.peer }

    @inlinable
    func hash(into hasher: inout Hasher) {
      hasher.combine(key)
      hasher.combine(peer.uid)
      hasher.combine(peer.connection)
    }
  }

  @usableFromInline struct Holding: Sendable, Hashable {
    @usableFromInline let key: Key
    @usableFromInline let uid: UInt32

    @inlinable
    init(key: Key, uid: UInt32) {
      self.key = key
      self.uid = uid
    }

    @inlinable
    static func == (left: Holding, right: Holding) -> Bool { left.key == right.key && left.uid == right.uid }

    @inlinable
    func hash(into hasher: inout Hasher) {
      hasher.combine(key)
      hasher.combine(uid)
    }
  }

  /// The bounds; after a change `next` may return waiters.
  public var limits: Limits
  /// The slots in use.
  @inlinable public var inFlight: Int { slotsInUse }
  @usableFromInline var slotsInUse = 0
  @usableFromInline var standings = Standings()
  @usableFromInline var waiters: [UInt64: Waiter] = [:]
  /// The lines that have waiters, with the positions of their standings.
  @usableFromInline var lines: [Line: Int] = [:]
  @usableFromInline var uids = Rotation<UInt32>()
  @usableFromInline var peers = Rotation<PeerID>()

  /// A limiter whose slots are all free.
  @inlinable
  public init(_ limits: Limits) { self.limits = limits }

  /// The length of the queue.
  @inlinable public var waitingCount: Int { waiters.count }
  /// Whether no slot is in use and the queue is empty.
  @inlinable public var isIdle: Bool { inFlight == 0 && waiters.isEmpty }
  /// The waiters, in no order.
  public var waiting: some Collection<Waiter> { waiters.values }

  /// Takes a slot, if `peer` may have one now. With `overflow` a uid that has no slot gets one although none is free.
  @inlinable
  public mutating func tryEnter(_ key: Key, for peer: PeerID, overflow: Bool = false) -> Bool {
    let position = standings.position(of: Line(key: key, peer: peer))
    guard standings[position].waiters.first == nil, hasSlot(for: peer, position, overflow) else { return false }
    take(position)
    return true
  }

  /// Puts a waiter into the queue, after those of its connection with smaller numbers; no two have the same number. One
  /// that `isReturning` was in the queue before, and is not subject to the queue's length. Returns nil when the queue
  /// is full. `displaced` is the waiter that lost its position to this one.
  @inlinable
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
    let position = standings.position(of: line)
    standings[position].waiters.insert(number)
    lines[line] = position
    uids.add(peer.uid)
    peers.add(peer)
    return (WaiterID(line: line, number: number), displaced)
  }

  /// Takes a waiter out of the queue; nil when it is not there any more.
  @inlinable
  public mutating func remove(_ waiterID: WaiterID) -> Waiter? { remove(waiterID, isServed: false) }

  /// Takes the waiters out of the queue that `isOver` selects.
  @inlinable
  public mutating func removeAll(where isOver: (Waiter, PeerID) -> Bool) -> [Waiter] {
    var waiterIDs: [WaiterID] = []
    for (line, position) in lines {
      for number in standings[position].waiters.elements {
        if let waiter = waiters[number], isOver(waiter, line.peer) {
          waiterIDs.append(WaiterID(line: line, number: number))
        }
      }
    }
    return waiterIDs.compactMap { remove($0) }
  }

  /// Gives the slot of the next waiter that may run to it, and takes it out of the queue. nil: none may run.
  @inlinable
  public mutating func next(
    overflow: Bool = false, where mayRun: (PeerID) -> Bool = { _ in true }
  ) -> (waiter: Waiter, peer: PeerID)? {
    guard !waiters.isEmpty, overflow || inFlight < limits.capacity else { return nil }
    typealias Rank = (Int, UInt64, Int, UInt64, UInt64)
    var best: (waiterID: WaiterID, rank: Rank)?
    for (line, position) in lines {
      guard let number = standings[position].waiters.first, hasSlot(for: line.peer, position, overflow) else {
        continue
      }
      let rank: Rank = (
        standings.slots(of: { $0.uid }, position), uids.position(of: line.peer.uid),
        standings.slots(of: { $0.peer }, position),
        peers.position(of: line.peer), number
      )
      guard best.map({ rank < $0.rank }) ?? true, mayRun(line.peer) else { continue }
      best = (WaiterID(line: line, number: number), rank)
    }
    guard let waiterID = best?.waiterID, let waiter = remove(waiterID, isServed: true) else { return nil }
    take(standings.position(of: waiterID.line))
    return (waiter, waiterID.line.peer)
  }

  /// Gives a slot back.
  @inlinable
  public mutating func leave(_ key: Key, for peer: PeerID) {
    slotsInUse -= 1
    standings.count(-1, at: standings.position(of: Line(key: key, peer: peer)))
  }

  @inlinable
  mutating func take(_ position: Int) {
    slotsInUse += 1
    standings.count(1, at: position)
  }

  @inlinable
  func hasSlot(for peer: PeerID, _ position: Int, _ overflow: Bool) -> Bool {
    let own = standings.slots(of: { $0.uid }, position)
    let (free, freeOfKey) = (
      limits.capacity - inFlight, limits.capacityPerKey - standings.slots(of: { $0.key }, position)
    )
    guard free > 0, freeOfKey > 0 else { return overflow && own == 0 }
    guard own < limits.capacityPerUID else { return false }
    guard case .thresholds(let perConnection) = limits.sharing, peer != .process else { return true }
    guard FairShare.allows(own, free: free),
      FairShare.allows(standings.slots(of: { $0.holding }, position), free: freeOfKey)
    else {
      return false
    }
    return !perConnection
      || FairShare.allows(standings.slots(of: { $0.peer }, position), free: FairShare.remainder(own, free: free))
  }

  @inlinable
  mutating func remove(_ waiterID: WaiterID, isServed: Bool) -> Waiter? {
    guard let waiter = waiters.removeValue(forKey: waiterID.number) else { return nil }
    if let position = lines[waiterID.line] {
      standings[position].waiters.remove(waiterID.number)
      if standings[position].waiters.first == nil { lines[waiterID.line] = nil }
    }
    uids.remove(waiterID.line.peer.uid, isServed: isServed)
    peers.remove(waiterID.line.peer, isServed: isServed)
    return waiter
  }

  /// The last waiter of the uid that has the most in the queue, if it may be displaced by one of `peer`.
  @inlinable
  func displaceable(by peer: PeerID) -> WaiterID? {
    guard let largest = uids.largest, largest.count > uids.count(of: peer.uid) + 1 else { return nil }
    let waiterIDs = lines.lazy.filter { $0.key.peer.uid == largest.id }.compactMap { line, position in
      standings[position].waiters.last.map { WaiterID(line: line, number: $0) }
    }
    return waiterIDs.max { $0.number < $1.number }
  }
}

extension ConcurrencyLimiterState: Sendable where Waiter: Sendable {}

/// The counts that a peer's slots for a key are a part of, by their positions.
@usableFromInline
struct SlotParts: Sendable {
  @usableFromInline let key: Int
  @usableFromInline let holding: Int
  @usableFromInline let uid: Int
  @usableFromInline let peer: Int

  @inlinable
  init(key: Int, holding: Int, uid: Int, peer: Int) {
    self.key = key
    self.holding = holding
    self.uid = uid
    self.peer = peer
  }
}

/// The slots and waiters of one peer for one key.
@usableFromInline
struct Standing: Sendable {
  @usableFromInline let parts: SlotParts
  @usableFromInline var slots = 0
  @usableFromInline var waiters = NumberQueue()

  @inlinable
  init(parts: SlotParts) { self.parts = parts }

  @inlinable var isIdle: Bool { slots == 0 && waiters.first == nil }
}

/// The slots that a key, a uid, a uid at a key, or a peer has.
@usableFromInline
struct SlotCounts: Sendable {
  @usableFromInline struct Count: Sendable {
    @usableFromInline var slots = 0
    /// How many standings it is a part of.
    @usableFromInline var standings = 0

    @inlinable
    init() {}
  }

  @usableFromInline var counts: [Count] = []
  @usableFromInline var free: [Int] = []

  @inlinable
  init() {}

  @inlinable
  subscript(position: Int) -> Int {
    get { counts[position].slots }
    set { counts[position].slots = newValue }
  }

  /// The position of the count of `id`, which is a part of one more standing.
  @inlinable
  mutating func join<ID>(_ id: ID, _ positions: inout [ID: Int]) -> Int {
    let position = positions[id] ?? free.popLast() ?? counts.count
    if position == counts.count { counts.append(Count()) }
    if counts[position].standings == 0 { positions[id] = position }
    counts[position].standings += 1
    return position
  }

  /// The count of `id` is a part of one standing less.
  @inlinable
  mutating func leave<ID>(_ id: ID, _ positions: inout [ID: Int]) {
    guard let position = positions[id] else { return }
    counts[position].standings -= 1
    guard counts[position].standings == 0 else { return }
    positions[id] = nil
    counts[position] = Count()
    free.append(position)
  }
}

extension ConcurrencyLimiterState {
  /// The standings, each with the counts that its slots are a part of: they are found once, not for each change of
  /// them. The idle ones are kept for a while: most calls follow others of the same peer.
  @usableFromInline struct Standings: Sendable {
    /// Up to this many counts are kept, or twice the number in use if that is more.
    @inlinable static var fewest: Int { 64 }

    @usableFromInline var list: [Standing] = []
    @usableFromInline var free: [Int] = []
    @usableFromInline var lines: [Line: Int] = [:]
    @usableFromInline var mostLines = fewest
    @usableFromInline var counts = SlotCounts()
    @usableFromInline var keys: [Key: Int] = [:]
    @usableFromInline var holdings: [Holding: Int] = [:]
    @usableFromInline var uids: [UInt32: Int] = [:]
    @usableFromInline var peers: [PeerID: Int] = [:]

    @inlinable
    init() {}

    @inlinable
    subscript(position: Int) -> Standing {
      get { list[position] }
      _modify { yield &list[position] }
    }

    /// The slots of which those at `position` are a part.
    @inlinable
    func slots(of part: (SlotParts) -> Int, _ position: Int) -> Int { counts[part(list[position].parts)] }

    /// Adds `change` slots, which may be negative.
    @inlinable
    mutating func count(_ change: Int, at position: Int) {
      list[position].slots += change
      let parts = list[position].parts
      counts[parts.key] += change
      counts[parts.holding] += change
      counts[parts.uid] += change
      counts[parts.peer] += change
    }

    /// The position of the standing of `line`, until it is idle and another one is made.
    @inlinable
    mutating func position(of line: Line) -> Int {
      if let position = lines[line] { return position }
      if lines.count >= mostLines { removeIdle() }
      let parts = SlotParts(
        key: counts.join(line.key, &keys), holding: counts.join(Holding(key: line.key, uid: line.peer.uid), &holdings),
        uid: counts.join(line.peer.uid, &uids), peer: counts.join(line.peer, &peers))
      let position = free.popLast() ?? list.count
      if position == list.count { list.append(Standing(parts: parts)) } else { list[position] = Standing(parts: parts) }
      lines[line] = position
      return position
    }

    @inlinable
    mutating func removeIdle() {
      for (line, position) in lines where list[position].isIdle {
        lines[line] = nil
        free.append(position)
        counts.leave(line.key, &keys)
        counts.leave(Holding(key: line.key, uid: line.peer.uid), &holdings)
        counts.leave(line.peer.uid, &uids)
        counts.leave(line.peer, &peers)
      }
      mostLines = max(Self.fewest, 2 * lines.count)
    }
  }
}

/// Numbers in ascending order. Taking the first one out costs constant time on average.
@usableFromInline
struct NumberQueue: Sendable {
  @usableFromInline var numbers: [UInt64] = []
  @usableFromInline var head = 0

  @inlinable
  init() {}

  @inlinable var first: UInt64? { head < numbers.count ? numbers[head] : nil }
  @inlinable var last: UInt64? { head < numbers.count ? numbers.last : nil }
  @inlinable var elements: ArraySlice<UInt64> { numbers[head...] }

  @usableFromInline
  mutating func insert(_ number: UInt64) {
    numbers.insert(number, at: numbers[head...].lastIndex { $0 < number }.map { $0 + 1 } ?? head)
  }

  @usableFromInline
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
