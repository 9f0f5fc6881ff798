import AuthEngine
import Glibc
import Support

/// Work on its way to the one thread that does it.
final class WorkQueue<Work: Sendable>: @unchecked Sendable {
  // Sendable because `arrivals` is only used through the functions for semaphores.
  private struct State {
    var items: [Work] = []
    var isClosed = false
    var hasEnded = false
    var closers: [Reply<Void>] = []
  }

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

  /// Adds an item; or returns why not.
  func submit(_ item: Work) -> StoreError? {
    let refusal = state.withLock { state -> StoreError? in
      if state.isClosed { return StoreError(.unavailable, "the store is closed") }
      if state.items.count >= capacity { return StoreError(.unavailable, "too much is waiting for the store") }
      state.items.append(item)
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

  /// Waits for items and takes at most `limit` of them; nil when the queue is closed and empty.
  func next(atMost limit: Int) -> [Work]? {
    while true {
      // Each item counts one and closing too. Who takes several items leaves counts behind: more turns of this loop.
      while sem_wait(arrivals) != 0 {}
      let (items, isOver) = state.withLock { state in
        let items = Array(state.items.prefix(limit))
        state.items.removeFirst(items.count)
        return (items, state.isClosed && items.isEmpty)
      }
      if isOver { return nil }
      if !items.isEmpty { return items }
    }
  }

  /// Says that nothing more will be done: what came in meanwhile is returned, to be refused.
  func end() -> [Work] {
    let (items, closers) = state.withLock { state in
      defer {
        state.items = []
        state.closers = []
      }
      state.isClosed = true
      state.hasEnded = true
      return (state.items, state.closers)
    }
    for closer in closers { closer.fill(()) }
    return items
  }
}
