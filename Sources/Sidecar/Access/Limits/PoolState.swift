import PosternSupport

/// The inbox of a `FairPool`'s threads: its work, and how many threads there are to do it. Without input and output.
struct PoolState<Work> {
  typealias Flow = FairQueue<Work>.Flow

  private let size: Int
  private var queue = FairQueue<Work>()
  private var threadCount = 0

  /// A pool without work and threads, of up to `size` threads.
  init(size: Int) { self.size = size }

  mutating func open(uid: UInt32) -> Flow { queue.open(uid: uid) }

  mutating func close(_ flow: Flow) { queue.close(flow) }

  mutating func charge(_ flow: Flow, _ cost: Int64) { queue.charge(flow, cost) }

  /// Adds work, for which a thread is to be woken; false when there is no thread for it. `startThread` starts another
  /// thread, unless it cannot: then the next work tries again.
  mutating func add(_ work: Work, of flow: Flow, startThread: () -> Bool) -> Bool {
    while threadCount < size, startThread() { threadCount += 1 }
    guard threadCount > 0 else { return false }
    queue.add(work, of: flow)
    return true
  }

  /// The next work; nil if there is none.
  mutating func next() -> (work: Work, flow: Flow)? { queue.next() }
}
