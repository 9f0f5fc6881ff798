import PosternSupport

/// Who is inside a `FairGate` and who waits before it. Without input and output; behind the gate's lock.
struct GateState {
  typealias Continuation = CheckedContinuation<FairGate.Refusal?, Never>
  /// A wait that is over; no refusal: it goes.
  typealias Settled = (waiter: Continuation, refusal: FairGate.Refusal?)

  /// One that waits.
  struct Waiter {
    let number: UInt64
    let lateAt: MonotonicInstant
    let deadline: MonotonicInstant?
    let continuation: Continuation
  }

  /// One connection.
  private struct Line {
    var inside = 0
    var turn: UInt64 = 0
    var waiting: [Waiter] = []
  }

  /// One uid.
  private struct Owner {
    var inside = 0
    var waitingCount = 0
    var turn: UInt64 = 0
    var lines: [UInt64: Line] = [:]
  }

  /// A holder may have so many times what is free.
  private static let share = FairShare.times

  private(set) var inFlight = 0
  private(set) var waitingCount = 0
  private(set) var limits: FairGate.Limits
  private var owners: [UInt32: Owner] = [:]
  private var nextNumber: UInt64 = 0
  private var turns: UInt64 = 0
  private var isSweeping = false

  init(limits: FairGate.Limits) { self.limits = limits }

  mutating func takeNumber() -> UInt64 {
    nextNumber += 1
    return nextNumber
  }

  /// Whether it may go at once; it is inside then.
  mutating func enterNow(_ holder: Requester) -> Bool {
    let owner = owners[holder.uid]
    guard (owner?.waitingCount ?? 0) == 0 else { return false }
    let room = room(owner)
    guard room > 0, isAllowed(owner?.lines[holder.connection]?.inside ?? 0, room) else { return false }
    admit(holder)
    return true
  }

  /// Other bounds from now on; who may go now that could not before.
  mutating func use(_ limits: FairGate.Limits) -> [Settled] {
    self.limits = limits
    return waitingCount == 0 ? [] : admit()
  }

  private mutating func admit(_ holder: Requester) {
    inFlight += 1
    owners[holder.uid, default: Owner()].inside += 1
    owners[holder.uid]?.lines[holder.connection, default: Line()].inside += 1
  }

  /// Waits, or is told at once that it may not, or that it may go after all.
  mutating func wait(_ waiter: Waiter, _ holder: Requester) -> [Settled] {
    // Nobody fills the queue alone either.
    let mine = owners[holder.uid]?.waitingCount ?? 0
    guard waitingCount < limits.queue, mine < Self.share * (limits.queue - waitingCount) else {
      return [(waiter.continuation, .full)]
    }
    waitingCount += 1
    owners[holder.uid, default: Owner()].waitingCount += 1
    owners[holder.uid]?.lines[holder.connection, default: Line()].waiting.append(waiter)
    return admit()
  }

  mutating func leave(_ holder: Requester) -> [Settled] {
    inFlight -= 1
    owners[holder.uid]?.inside -= 1
    owners[holder.uid]?.lines[holder.connection]?.inside -= 1
    tidy(holder)
    return waitingCount == 0 ? [] : admit()
  }

  /// One that waits gives up; nil when it does not wait.
  mutating func remove(_ number: UInt64, _ holder: Requester) -> Continuation? {
    guard let place = owners[holder.uid]?.lines[holder.connection]?.waiting.firstIndex(where: { $0.number == number })
    else { return nil }
    let waiter = owners[holder.uid]?.lines[holder.connection]?.waiting.remove(at: place)
    forgetWaiter(holder)
    return waiter?.continuation
  }

  /// Ends the waits whose time is over; with no time all of them.
  mutating func expire(at now: MonotonicInstant?) -> [Settled] {
    var settled: [Settled] = []
    for (uid, owner) in owners where owner.waitingCount > 0 {
      for (connection, line) in owner.lines {
        for waiter in line.waiting {
          let isPast = waiter.deadline.map { deadline in now.map { deadline <= $0 } ?? false } ?? false
          guard isPast || now.map({ waiter.lateAt <= $0 }) ?? true else { continue }
          let holder = Requester(uid: uid, connection: connection)
          if let continuation = remove(waiter.number, holder) {
            settled.append((continuation, isPast ? .deadlinePassed : .late))
          }
        }
      }
    }
    return settled
  }

  /// Whether somebody must begin to look at the clock.
  mutating func beginSweeping() -> Bool {
    guard waitingCount > 0, !isSweeping else { return false }
    isSweeping = true
    return true
  }

  /// Whether nobody needs the clock any more.
  mutating func endSweeping() -> Bool {
    isSweeping = waitingCount > 0
    return !isSweeping
  }

  /// Lets in who may: of the uids the one with least inside, of its connections too, and by turns among equals.
  private mutating func admit() -> [Settled] {
    var settled: [Settled] = []
    while waitingCount > 0, inFlight < limits.inFlight, let holder = next() {
      guard let waiter = owners[holder.uid]?.lines[holder.connection]?.waiting.removeFirst() else { break }
      turns += 1
      owners[holder.uid]?.turn = turns
      owners[holder.uid]?.lines[holder.connection]?.turn = turns
      admit(holder)
      forgetWaiter(holder)
      settled.append((waiter.continuation, nil))
    }
    return settled
  }

  private func next() -> Requester? {
    var best: (holder: Requester, inside: Int, turn: UInt64)?
    for (uid, owner) in owners where owner.waitingCount > 0 {
      let room = room(owner)
      guard room > 0, best.map({ (owner.inside, owner.turn) < ($0.inside, $0.turn) }) ?? true else { continue }
      let lines = owner.lines.filter { !$0.value.waiting.isEmpty && isAllowed($0.value.inside, room) }
      let line = lines.min { ($0.value.inside, $0.value.turn) < ($1.value.inside, $1.value.turn) }
      if let line { best = (Requester(uid: uid, connection: line.key), owner.inside, owner.turn) }
    }
    return best?.holder
  }

  /// How many more of the uid's calls may be inside.
  private func room(_ owner: Owner?) -> Int {
    let free = max(0, limits.inFlight - inFlight)
    return min(free, free.multipliedClamped(by: Self.share) - (owner?.inside ?? 0))
  }

  private func isAllowed(_ inside: Int, _ room: Int) -> Bool { inside < room.multipliedClamped(by: Self.share) }

  private mutating func forgetWaiter(_ holder: Requester) {
    waitingCount -= 1
    owners[holder.uid]?.waitingCount -= 1
    tidy(holder)
  }

  /// Forgets a connection of which nothing is here, and a uid.
  private mutating func tidy(_ holder: Requester) {
    guard let line = owners[holder.uid]?.lines[holder.connection], line.inside <= 0, line.waiting.isEmpty else {
      return
    }
    owners[holder.uid]?.lines[holder.connection] = nil
    if owners[holder.uid]?.lines.isEmpty == true { owners[holder.uid] = nil }
  }
}

extension Int {
  fileprivate func multipliedClamped(by factor: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}
