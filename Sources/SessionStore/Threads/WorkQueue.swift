import PosternSupport
import SessionRecords

/// A store's thread, for calls that block, and the queue of its work. It serves users in rotation: earlier work of one
/// user does not delay all later work of another. The work of one user remains in order. No user can fill the queue
/// alone. Not a `ConcurrencyLimiter`: there is one thread, and pieces of work differ in cost.
struct WorkQueue<Work: Sendable>: Sendable {
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

  private let worker = WorkerThread(State())
  private let capacity: Int

  /// An empty queue for at most `capacity` items.
  init(capacity: Int) { self.capacity = capacity }

  /// Starts the thread, with a name of at most 15 bytes. `body` takes items with `next` until it returns nil, and rejects
  /// the items that `end` returns.
  func start(_ name: StaticString, _ body: @escaping @Sendable () -> Void) throws(StoreError) {
    do throws(SystemThread.StartError) {
      try worker.start(name, body)
    } catch { throw StoreError(.unavailable, "no thread for the store: \(error)") }
  }

  /// Adds an item to the rotation, for `uid`; or returns the reason why not.
  /// `cost` is its approximate cost in ordinary items.
  ///
  /// With the default of `limits.inFlight` the calls of one user cannot fill a queue, with a greater one they could.
  func submit(_ work: Work, of uid: UInt32, cost: Int64 = 1) -> StoreError? {
    let item = Item(work: work, uid: uid, cost: cost)
    // Nil: the queue is closed.
    let rejection: StoreError?? = worker.submit { state -> StoreError? in
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
    return rejection ?? StoreError(.unavailable, "the store is closed")
  }

  /// Accepts no more items; those in the queue will be done.
  func close() { worker.stop() }

  /// Closes, and waits for the end of the thread.
  func closeAndWait() async {
    close()
    await worker.join()
  }

  // MARK: - The thread

  /// Charges the additional cost of work for `uid`.
  func charge(_ uid: UInt32, _ cost: Int64) {
    guard cost > 0 else { return }
    worker.withInbox { state in
      guard let flow = state.shares[uid]?.flow else { return }
      state.queue.charge(flow, cost)
    }
  }

  /// Waits for items and takes at most `limit` of them, and no more once their cost is `limit`; nil when the queue is
  /// closed and empty.
  func next(atMost limit: Int) -> [Work]? {
    worker.next { state in
      var items: [Work] = []
      var cost: Int64 = 0
      while items.count < limit, cost < limit, let item = state.take() {
        items.append(item.work)
        cost += item.cost
      }
      return items.isEmpty ? nil : items
    }
  }

  /// Nothing more will be done: closes, and returns the items in the queue, to be rejected.
  func end() -> [Work] {
    worker.stop { state in
      var items: [Work] = []
      while let item = state.take() { items.append(item.work) }
      return items
    }
  }
}
