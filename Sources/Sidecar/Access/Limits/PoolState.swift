import PosternSupport

/// The work of a `FairPool` and who is there to do it. Without input and output; behind the pool's lock, so that work
/// is taken in only while there is a thread that has not ended.
struct PoolState<Work> {
  typealias Flow = FairQueue<Work>.Flow

  private let size: Int
  private var queue = FairQueue<Work>()
  private var threadCount = 0
  private var isStopped = false

  /// A pool without work and threads, of up to `size` threads.
  init(size: Int) { self.size = size }

  mutating func open(uid: UInt32) -> Flow { queue.open(uid: uid) }

  mutating func close(_ flow: Flow) { queue.close(flow) }

  mutating func charge(_ flow: Flow, _ cost: Int64) { queue.charge(flow, cost) }

  /// Adds work, for which a thread is to be woken; false when there is no thread for it. `startThread` starts another
  /// thread, unless it cannot: then the next work tries again.
  mutating func add(_ work: Work, of flow: Flow, startThread: () -> Bool) -> Bool {
    while !isStopped, threadCount < size, startThread() { threadCount += 1 }
    guard threadCount > 0 else { return false }
    queue.add(work, of: flow)
    return true
  }

  /// The work for the thread that was woken; nil when the thread is to exit, which is not counted any more then.
  mutating func next() -> (work: Work, flow: Flow)? {
    if let next = queue.next() { return next }
    threadCount -= 1
    return nil
  }

  /// No thread is started any more. How many are to be woken for their end; each comes to it when no work is left.
  mutating func stop() -> Int {
    isStopped = true
    return threadCount
  }
}
