import PosternSupport
import PosternTestSupport
import Testing

/// Properties of random sequences of requests, and the order of a few.
@Suite("State of a concurrency limiter")
struct ConcurrencyLimiterStateTests {
  typealias State = ConcurrencyLimiterState<Int, Int>

  private struct Slot {
    let key: Int
    let peer: PeerID
  }

  static let sharings: [State.Sharing] = [
    .thresholds(perConnection: true), .thresholds(perConnection: false), .displacement,
  ]

  private static func peer(_ uid: UInt32, _ connection: UInt64 = 1) -> PeerID {
    PeerID(uid: uid, connection: connection)
  }

  /// Lets in all waiters that may run; their slots by number.
  private static func drain(_ state: inout State, _ keys: [Int: Int], _ running: inout [Slot]) -> [Int] {
    var admitted: [Int] = []
    while let (number, peer) = state.next() {
      admitted.append(number)
      running.append(Slot(key: keys[number] ?? -1, peer: peer))
    }
    return admitted
  }

  /// Would catch: more slots in use than a bound allows, a queue without end, a waiter for which there is a slot and
  /// that is not admitted (a lost wake-up), one that is admitted twice or not at all, and counts that do not return to
  /// zero.
  @Test(
    "whatever comes, leaves and gives up: bounds hold, nothing waits that could run, nothing is lost", arguments: 0..<30
  )
  func invariants(seed: Int) {
    for sharing in Self.sharings {
      var random = SeededGenerator(seed: UInt64(seed) &* 977 &+ 1)
      let limits = State.Limits(
        capacity: Int.random(in: 1...12, using: &random), capacityPerKey: Int.random(in: 1...8, using: &random),
        capacityPerUID: Int.random(in: 1...12, using: &random), queue: Int.random(in: 0...20, using: &random),
        sharing: sharing)
      var state = State(limits)
      var running: [Slot] = []
      var waiting: [Int: (waiterID: State.WaiterID, slot: Slot)] = [:]
      var keys: [Int: Int] = [:]
      for number in 0..<400 {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
          let key = Int.random(in: 0..<3, using: &random)
          let peer = Self.peer(UInt32.random(in: 0..<4, using: &random), UInt64.random(in: 0..<3, using: &random))
          keys[number] = key
          if state.tryEnter(key, for: peer) {
            running.append(Slot(key: key, peer: peer))
          } else if let (waiterID, displaced) = state.enqueue(number, number: UInt64(number), key, for: peer) {
            waiting[number] = (waiterID, Slot(key: key, peer: peer))
            if let displaced { #expect(waiting.removeValue(forKey: displaced) != nil) }
          }
        case 5..<9:
          guard !running.isEmpty else { continue }
          let slot = running.remove(at: Int.random(in: 0..<running.count, using: &random))
          state.leave(slot.key, for: slot.peer)
        default:
          guard let one = waiting.keys.sorted().randomElement(using: &random), let left = waiting[one] else { continue }
          let (first, second) = (state.remove(left.waiterID), state.remove(left.waiterID))
          #expect(first == one && second == nil)
          waiting[one] = nil
        }
        for admitted in Self.drain(&state, keys, &running) { #expect(waiting.removeValue(forKey: admitted) != nil) }
        #expect(state.inFlight == running.count && running.count <= limits.capacity)
        #expect(state.waitingCount == waiting.count && waiting.count <= limits.queue)
        for key in 0..<3 { #expect(running.count { $0.key == key } <= limits.capacityPerKey) }
        for uid in UInt32(0)..<4 { #expect(running.count { $0.peer.uid == uid } <= limits.capacityPerUID) }
        // Without the queue none of those that wait would get a slot.
        for (_, slot) in waiting.values {
          var copy = state
          _ = copy.removeAll { _, _ in true }
          let overtakes = copy.tryEnter(slot.key, for: slot.peer)
          #expect(!overtakes)
        }
      }
      while !running.isEmpty {
        let slot = running.removeFirst()
        state.leave(slot.key, for: slot.peer)
        for admitted in Self.drain(&state, keys, &running) { waiting[admitted] = nil }
      }
      #expect(waiting.isEmpty && state.isIdle)
    }
  }

  /// Would catch: that what is known of those that stay is forgotten with those that left.
  @Test("peers that come and go, in whatever number, change nothing for one that keeps slots and one that waits")
  func visitors() {
    var state = State(State.Limits(capacity: 4, capacityPerKey: 2, capacityPerUID: 2, sharing: .displacement))
    let entered = (0..<2).map { _ in state.tryEnter(0, for: Self.peer(1)) }
    #expect(entered == [true, true])
    #expect(state.enqueue(7, number: 7, 0, for: Self.peer(2)) != nil)
    for visitor in UInt32(10)..<1000 {
      let (first, second) = (state.tryEnter(1, for: Self.peer(visitor)), state.tryEnter(1, for: Self.peer(visitor)))
      let isOverBounds =
        state.tryEnter(0, for: Self.peer(3)) || state.tryEnter(1, for: Self.peer(1)) || state.next() != nil
      #expect(first && second && !isOverBounds)
      for _ in 0..<2 { state.leave(1, for: Self.peer(visitor)) }
    }
    state.leave(0, for: Self.peer(1))
    let next = state.next()
    #expect(next?.waiter == 7 && next?.peer == Self.peer(2))
    state.leave(0, for: Self.peer(1))
    state.leave(0, for: Self.peer(2))
    #expect(state.isIdle)
  }

  /// Would catch: a uid, or a connection, that gets less than another one by having less waiting, or by coming later.
  @Test("uids that always have waiters get as many slots each, and so do the connections of one", arguments: [1, 2, 5])
  func fairness(capacity: Int) {
    for sharing in Self.sharings {
      var state = State(State.Limits(capacity: capacity, sharing: sharing))
      var number = 0
      // The first uid has a hundred times as many as the others, and two connections.
      for (peer, count) in [(Self.peer(1, 1), 3000), (Self.peer(1, 2), 300), (Self.peer(2), 30), (Self.peer(3), 30)] {
        for _ in 0..<count {
          _ = state.enqueue(number, number: UInt64(number), 0, for: peer)
          number += 1
        }
      }
      var served: [PeerID: Int] = [:]
      var running: [PeerID] = []
      for _ in 0..<60 {
        while let (_, peer) = state.next() {
          served[peer, default: 0] += 1
          running.append(peer)
        }
        state.leave(0, for: running.removeFirst())
      }
      let first = (served[Self.peer(1, 1)] ?? 0, served[Self.peer(1, 2)] ?? 0)
      let counts = [first.0 + first.1, served[Self.peer(2)] ?? 0, served[Self.peer(3)] ?? 0]
      #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 1 + capacity, "\(sharing) \(counts)")
      #expect(abs(first.0 - first.1) <= 1 + capacity, "\(sharing) \(first)")
    }
  }

  /// Would catch: a waiter that newcomers overtake again and again, because each has nothing.
  @Test("a waiter is served after a bounded number of others, however many uids come meanwhile", arguments: sharings)
  func starvation(sharing: State.Sharing) {
    var state = State(State.Limits(capacity: 1, sharing: sharing))
    let isFree = state.tryEnter(0, for: Self.peer(1))
    #expect(isFree)
    for number in 0..<2 { _ = state.enqueue(number, number: UInt64(number), 0, for: Self.peer(1)) }
    var inside = Self.peer(1)
    for round in 2..<20 {
      _ = state.enqueue(round, number: UInt64(round), 0, for: Self.peer(UInt32(round)))
      state.leave(0, for: inside)
      guard let next = state.next() else { break }
      inside = next.peer
      if next.waiter == 1 {
        #expect(round <= 5)
        return
      }
    }
    Issue.record("the second waiter starves")
  }

  @Test("one uid takes all slots, of a key or over all, or a connection takes all of its uid's", arguments: [4, 7, 64])
  func reserve(capacity: Int) {
    var state = State(State.Limits(capacity: capacity, capacityPerKey: capacity, sharing: Self.sharings[0]))
    var own = 0
    while own <= capacity, state.tryEnter(own % 2, for: Self.peer(1)) { own += 1 }
    #expect(own < capacity)
    let other = state.tryEnter(0, for: Self.peer(2))
    #expect(other)
    var keyed = State(State.Limits(capacity: 1000, capacityPerKey: capacity, sharing: Self.sharings[1]))
    own = 0
    while own <= capacity, keyed.tryEnter(0, for: Self.peer(1)) { own += 1 }
    #expect(own < capacity)
    let third = keyed.tryEnter(0, for: Self.peer(3))
    #expect(third)
  }

  @Test("one uid fills the queue, or two displace each other alternately")
  func queue() {
    for sharing in Self.sharings {
      var state = State(State.Limits(capacity: 1, queue: 8, sharing: sharing))
      let isFree = state.tryEnter(0, for: Self.peer(1))
      #expect(isFree)
      var number: UInt64 = 0
      func enqueue(_ uid: UInt32) -> Bool {
        number += 1
        return state.enqueue(0, number: number, 0, for: Self.peer(uid)) != nil
      }
      while number < 20, enqueue(1) {}
      let hasCapacity = enqueue(2)
      #expect(hasCapacity, "\(sharing)")
      #expect(state.waitingCount <= 8)
      for _ in 0..<10 { _ = enqueue(2) }
      guard sharing == .displacement else { continue }
      // Four of each: neither displaces the other any more.
      let (first, second) = (enqueue(1), enqueue(2))
      #expect(!first && !second)
    }
  }

  @Test("a slot that is long in use does not let a uid without one overflow, or lets one with a slot do so")
  func overflow() {
    var state = State(State.Limits(capacity: 1, sharing: .displacement))
    let first = state.tryEnter(0, for: Self.peer(1), overflow: true)
    let again = state.tryEnter(0, for: Self.peer(1), overflow: true)
    let other = state.tryEnter(0, for: Self.peer(2), overflow: true)
    #expect(first && !again && other && state.inFlight == 2)
  }

  @Test("a waiter that returns comes after those that came later, or is rejected because the queue is full")
  func returning() {
    var state = State(State.Limits(capacity: 1, queue: 2, sharing: .displacement))
    let isFree = state.tryEnter(0, for: Self.peer(1))
    #expect(isFree)
    for number in 2...3 { _ = state.enqueue(number, number: UInt64(number), 0, for: Self.peer(1)) }
    let (new, returning) = (
      state.enqueue(1, number: 1, 0, for: Self.peer(1)),
      state.enqueue(1, number: 1, 0, for: Self.peer(1), isReturning: true)
    )
    #expect(new == nil && returning != nil)
    var order: [Int] = []
    for _ in 0..<3 {
      state.leave(0, for: Self.peer(1))
      if let next = state.next() { order.append(next.waiter) }
    }
    #expect(order == [1, 2, 3])
  }
}

@Suite("Budget that uids share")
struct SharedBudgetTests {
  /// Would catch: two uids together that leave a third nothing.
  @Test("a uid gets more than three times what is left free, or something of it does not come back")
  func shares() {
    var budget = SharedBudget(capacity: 100, capacityPerUID: 70)
    let (first, tooMuch) = (budget.take(70, for: 1), budget.take(25, for: 2))
    #expect(first && !tooMuch)
    let (second, third) = (budget.take(20, for: 2), budget.take(7, for: 3))
    #expect(second && third && budget.uidCount == 3)
    for (amount, uid) in [(70, 1), (20, 2), (7, 3)] as [(Int, UInt32)] { budget.giveBack(amount, for: uid) }
    #expect(budget.uidCount == 0 && budget.allows(70, for: 3))
    #expect(!budget.allows(.max, for: 3))
  }

  /// Would catch: a flood of one uid, counted because it is there, that fills the budget of all.
  @Test("what a uid has beyond its share takes nothing from another's, and comes back first", arguments: [1, 7, 500])
  func excess(piece: Int) {
    for (capacity, most) in [(1024, 256), (16, 256), (Int.max, 10)] {
      var (flooded, alone) = (SharedBudget(capacity: capacity, capacityPerUID: most), 0)
      for _ in 0..<1000 {
        flooded.add(piece, for: 1)
        if flooded.allows(1, for: 1) { alone += 1 }
        #expect(flooded.allows(1, for: 2), "\(capacity)")
      }
      #expect(flooded.amount(of: 1) == 1000 * piece && alone < most)
      for _ in 0..<999 { flooded.giveBack(piece, for: 1) }
      #expect(flooded.amount(of: 1) == piece && flooded.uidCount == 1)
      flooded.giveBack(piece, for: 1)
      #expect(flooded.uidCount == 0)
      var fresh = SharedBudget(capacity: capacity, capacityPerUID: most)
      while flooded.allows(1, for: 2) || fresh.allows(1, for: 2) {
        let taken = (flooded.take(1, for: 2), fresh.take(1, for: 2))
        #expect(taken == (true, true))
      }
    }
  }
}
