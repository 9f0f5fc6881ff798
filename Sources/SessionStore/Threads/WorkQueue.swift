import Glibc
import PosternSupport
import SessionRecords

/// Work on its way to the one thread that does it, in turns of the users it is done for: what one user has asked for
/// does not stand before what another asks for later. The work of one user stays in order. Nobody fills the queue
/// alone.
final class WorkQueue<Work: Sendable>: @unchecked Sendable {
  // Sendable because `arrivals` is only used through the functions for semaphores.
  private struct Item {
    let work: Work
    let owner: UInt32
    let cost: Int64
  }

  /// A user's share, and how much of the user's waits.
  private struct Share {
    let flow: FairQueue<Item>.Flow
    var waitingCount = 0
  }

  private struct State {
    var queue = FairQueue<Item>()
    var shares: [UInt32: Share] = [:]
    var count = 0
    var isClosed = false
    var hasEnded = false
    var closers: [Reply<Void>] = []

    mutating func add(_ item: Item) {
      var share = shares[item.owner] ?? Share(flow: queue.open(owner: item.owner))
      share.waitingCount += 1
      shares[item.owner] = share
      queue.add(item, of: share.flow)
      count += 1
    }

    mutating func take() -> Item? {
      guard let (item, flow) = queue.next() else { return nil }
      queue.charge(flow, item.cost)
      count -= 1
      shares[item.owner]?.waitingCount -= 1
      if shares.count > WorkQueue.maxIdleShares, shares[item.owner]?.waitingCount == 0 {
        shares[item.owner] = nil
        queue.close(flow)
      }
      return item
    }
  }

  /// Of so many users it is remembered how much they have asked for, though nothing of theirs waits.
  private static var maxIdleShares: Int { 256 }

  private let state = Locked(State())
  private let capacity: Int
  private let arrivals: UnsafeMutablePointer<sem_t>

  /// An empty queue for at most `capacity` items.
  init(capacity: Int) {
    self.capacity = capacity
    arrivals = .allocate(capacity: 1)
    arrivals.initialize(to: sem_t())
    sem_init(arrivals, 0, 0)
  }

  deinit {
    sem_destroy(arrivals)
    arrivals.deinitialize(count: 1)
    arrivals.deallocate()
  }

  /// Adds an item, which is done when it is the turn of `owner` (nil: of whoever the running task works for); or
  /// returns why not. `cost` tells about how many ordinary items it is worth.
  ///
  /// With the default of `limits.inFlight` the calls of one user cannot fill a queue, with a greater one they could.
  func submit(_ work: Work, of owner: UInt32? = nil, cost: Int64 = 1) -> StoreError? {
    let item = Item(work: work, owner: owner ?? Requesting.uid ?? Requester.process.uid, cost: cost)
    let refusal = state.withLock { state -> StoreError? in
      if state.isClosed { return StoreError(.unavailable, "the store is closed") }
      if state.count >= capacity {
        return StoreError(.unavailable, "too much is waiting for the store", isOverload: true)
      }
      // What the process does for nobody in particular has no share.
      let own = item.owner == Requester.process.uid ? 0 : state.shares[item.owner]?.waitingCount ?? 0
      guard FairShare.allows(own, free: capacity - state.count) else {
        return StoreError(.unavailable, "too much of this user is waiting for the store", isOverload: true)
      }
      state.add(item)
      return nil
    }
    if refusal == nil { sem_post(arrivals) }
    return refusal
  }

  /// Takes nothing in any more; what is in will be done.
  func close() {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { sem_post(arrivals) }
  }

  /// Closes, and waits until the thread has said that it is done.
  func closeAndWait() async {
    close()
    let ended = Reply<Void>()
    let hasEnded = state.withLock { state in
      if !state.hasEnded { state.closers.append(ended) }
      return state.hasEnded
    }
    if !hasEnded { await ended.value() }
  }

  // MARK: - The thread

  /// What `owner` was given turned out to cost so much more.
  func charge(_ owner: UInt32, _ cost: Int64) {
    guard cost > 0 else { return }
    state.withLock { state in
      guard let flow = state.shares[owner]?.flow else { return }
      state.queue.charge(flow, cost)
    }
  }

  /// Waits for items and takes at most `limit` of them, and no more once they cost `limit` together; nil when the queue
  /// is closed and empty.
  func next(atMost limit: Int) -> [Work]? {
    while true {
      // Each item counts one and closing too. Who takes several items leaves counts behind: more turns of this loop.
      while sem_wait(arrivals) != 0 {}
      let (items, isOver) = state.withLock { state in
        var items: [Work] = []
        var cost: Int64 = 0
        while items.count < limit, cost < limit, let item = state.take() {
          items.append(item.work)
          cost += item.cost
        }
        return (items, state.isClosed && items.isEmpty)
      }
      if isOver { return nil }
      if !items.isEmpty { return items }
    }
  }

  /// Says that nothing more will be done: what came in meanwhile is returned, to be refused.
  func end() -> [Work] {
    let (items, closers) = state.withLock { state in
      defer { state.closers = [] }
      state.isClosed = true
      state.hasEnded = true
      var items: [Work] = []
      while let item = state.take() { items.append(item.work) }
      return (items, state.closers)
    }
    for closer in closers { closer.fill(()) }
    return items
  }
}
