import PosternSupport

/// Who may go now and who waits: a bound per key and one over all, and for each uid not more than three times what is
/// still free: whatever somebody holds, and for how long, there is a place for somebody else, with bounds of four or
/// more (as in `FairGate`). Of those for whom there is a place the one goes whose uid has fewest inside, of a uid's
/// connections too, then the one that has waited longest; nobody waits for a place that only another key lacks.
///
/// libcurl has such bounds, too, but only looks at one of those who wait when a place becomes free: behind a slow
/// server's queue the exchanges with another one could wait for ever. And it knows nobody's share.
struct Admission<Key: Hashable, Element> {
  /// Names one that waits.
  struct Ticket: Hashable {
    fileprivate let spot: Spot
    fileprivate let number: UInt64
  }

  fileprivate struct Spot: Hashable {
    let key: Key
    let requester: Requester
  }

  /// A uid's places for one key.
  private struct Holding: Hashable {
    let key: Key
    let uid: UInt32
  }

  private struct Line {
    /// Numbers in order, from `first` on; some may have left meanwhile.
    var numbers: [UInt64] = []
    var first = 0
  }

  /// A place that is free again at an instant.
  private struct Lingering {
    let spot: Spot
    let end: MonotonicInstant
  }

  private let bound: Int
  private let boundPerKey: Int
  private var inside = 0
  private var insideByKey: [Key: Int] = [:]
  private var holdings: [Holding: Int] = [:]
  private var load = RequesterLoad()
  private var lines: [Spot: Line] = [:]
  private var waitingElements: [UInt64: Element] = [:]
  private var nextNumber: UInt64 = 0
  /// Places of those who are gone and whose work goes on.
  private var lingering: [Lingering] = []

  init(bound: Int, boundPerKey: Int) {
    self.bound = max(1, bound)
    self.boundPerKey = max(1, boundPerKey)
  }

  /// How many wait.
  var waitingCount: Int { waitingElements.count }

  /// Those who wait, in no order.
  var waiting: some Collection<Element> { waitingElements.values }

  /// Lets `element` in, and then returns nil; or has it wait.
  mutating func enter(_ element: Element, _ key: Key, for requester: Requester = .process) -> Ticket? {
    let spot = Spot(key: key, requester: requester)
    if hasRoom(for: spot) {
      admit(spot)
      return nil
    }
    let number = nextNumber
    nextNumber += 1
    waitingElements[number] = element
    lines[spot, default: Line()].numbers.append(number)
    return Ticket(spot: spot, number: number)
  }

  /// One that was inside is gone.
  mutating func leave(_ key: Key, for requester: Requester = .process) {
    inside -= 1
    let left = (insideByKey[key] ?? 0) - 1
    insideByKey[key] = left > 0 ? left : nil
    load.remove(requester)
    let holding = Holding(key: key, uid: requester.uid)
    let held = (holdings[holding] ?? 0) - 1
    holdings[holding] = held > 0 ? held : nil
  }

  /// One that was inside is gone, but something of it goes on until `end`: until then the place is taken, and its
  /// uid's.
  mutating func leave(_ key: Key, for requester: Requester, lingeringUntil end: MonotonicInstant) {
    lingering.append(Lingering(spot: Spot(key: key, requester: requester), end: end))
  }

  /// Frees the places whose time is over.
  mutating func releaseLingering(at now: MonotonicInstant) {
    guard lingering.contains(where: { $0.end <= now }) else { return }
    for place in lingering where place.end <= now { leave(place.spot.key, for: place.spot.requester) }
    lingering.removeAll { $0.end <= now }
  }

  /// One that waits gives up; nil when it does not wait.
  mutating func giveUp(_ ticket: Ticket) -> Element? {
    guard let element = waitingElements.removeValue(forKey: ticket.number) else { return nil }
    tidy(ticket.spot)
    return element
  }

  /// Lets in the one whose turn it is of those for whom there is a place.
  mutating func next() -> Element? {
    guard inside < bound, !waitingElements.isEmpty else { return nil }
    var best: (spot: Spot, turn: (uid: Int, connection: Int), number: UInt64)?
    for (spot, line) in lines where hasRoom(for: spot) {
      let (turn, number) = (load.turn(of: spot.requester), line.numbers[line.first])
      if let best, (best.turn.uid, best.turn.connection, best.number) < (turn.uid, turn.connection, number) { continue }
      best = (spot, turn, number)
    }
    guard let best, let element = waitingElements.removeValue(forKey: best.number) else { return nil }
    admit(best.spot)
    tidy(best.spot)
    return element
  }

  /// Whether there is a place, and not too many are this uid's already. What the process does for nobody in particular
  /// has no share.
  private func hasRoom(for spot: Spot) -> Bool {
    let (free, freeForKey) = (bound - inside, boundPerKey - (insideByKey[spot.key] ?? 0))
    guard free > 0, freeForKey > 0 else { return false }
    guard spot.requester != .process else { return true }
    let held = holdings[Holding(key: spot.key, uid: spot.requester.uid)] ?? 0
    return FairShare.allows(held, free: freeForKey) && FairShare.allows(load.turn(of: spot.requester).uid, free: free)
  }

  private mutating func admit(_ spot: Spot) {
    holdings[Holding(key: spot.key, uid: spot.requester.uid), default: 0] += 1
    inside += 1
    insideByKey[spot.key, default: 0] += 1
    load.add(spot.requester)
  }

  /// Those who have left go out of the line, an empty line out of the table.
  private mutating func tidy(_ spot: Spot) {
    guard var line = lines.removeValue(forKey: spot) else { return }
    while line.first < line.numbers.count, waitingElements[line.numbers[line.first]] == nil { line.first += 1 }
    if line.first > 64, line.first > line.numbers.count / 2 {
      line.numbers.removeFirst(line.first)
      line.first = 0
    }
    if line.first < line.numbers.count { lines[spot] = line }
  }
}
