import Glibc
import PosternSupport
import SessionRecords

/// A queue of work for one thread, which serves users in rotation: earlier work of one user does not delay all later
/// work of another. The work of one user remains in order. No user can fill the queue alone. Not a
/// `ConcurrencyLimiter`: there is one thread, and pieces of work differ in cost.
final class WorkQueue<Work: Sendable>: @unchecked Sendable {
  // Sendable because `arrivals` is only used through the functions for semaphores.
  private struct Item {
    let work: Work
    let uid: UInt32
    let cost: Int64
  }

  /// A user's share, and the amount of the user's waiting work.
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
      var share = shares[item.uid] ?? Share(flow: queue.open(uid: item.uid))
      share.waitingCount += 1
      shares[item.uid] = share
      queue.add(item, of: share.flow)
      count += 1
    }

    mutating func take() -> Item? {
      guard let (item, flow) = queue.next() else { return nil }
      queue.charge(flow, item.cost)
      count -= 1
      shares[item.uid]?.waitingCount -= 1
      if shares.count > WorkQueue.maxIdleShares, shares[item.uid]?.waitingCount == 0 {
        shares[item.uid] = nil
        queue.close(flow)
      }
      return item
    }
  }

  /// The number of users whose past work is recorded although none of it waits.
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

  /// Adds an item to the rotation, for `uid` (nil: for the user of the running task); or returns the reason why not.
  /// `cost` is its approximate cost in ordinary items.
  ///
  /// With the default of `limits.inFlight` the calls of one user cannot fill a queue, with a greater one they could.
  func submit(_ work: Work, of uid: UInt32? = nil, cost: Int64 = 1) -> StoreError? {
    let item = Item(work: work, uid: uid ?? CurrentPeer.uid ?? PeerID.process.uid, cost: cost)
    let rejection = state.withLock { state -> StoreError? in
      if state.isClosed { return StoreError(.unavailable, "the store is closed") }
      if state.count >= capacity {
        return StoreError(.unavailable, "too much is waiting for the store", isOverload: true)
      }
      // Work of the process itself has no share.
      let own = item.uid == PeerID.process.uid ? 0 : state.shares[item.uid]?.waitingCount ?? 0
      guard FairShare.allows(own, free: capacity - state.count) else {
        return StoreError(.unavailable, "too much of this user is waiting for the store", isOverload: true)
      }
      state.add(item)
      return nil
    }
    if rejection == nil { sem_post(arrivals) }
    return rejection
  }

  /// Accepts no more items; those in the queue will be done.
  func close() {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { sem_post(arrivals) }
  }

  /// Closes, and waits until the thread has reported that it is done.
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

  /// Charges the additional cost of work for `uid`.
  func charge(_ uid: UInt32, _ cost: Int64) {
    guard cost > 0 else { return }
    state.withLock { state in
      guard let flow = state.shares[uid]?.flow else { return }
      state.queue.charge(flow, cost)
    }
  }

  /// Waits for items and takes at most `limit` of them, and no more once their cost is `limit`; nil when the queue is
  /// closed and empty.
  func next(atMost limit: Int) -> [Work]? {
    while true {
      // Each item counts one and closing too. Taking several items leaves counts behind: further rounds of this loop.
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

  /// Reports that nothing more will be done: returns the items that have come meanwhile, to be rejected.
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
