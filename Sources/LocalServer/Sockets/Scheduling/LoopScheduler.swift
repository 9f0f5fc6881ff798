import PosternRuntime
import PosternSupport

/// Shares one event loop's time among its connections: fairly between uids, and between the connections of each.
///
/// Everything that costs time goes through it: handling messages that were read, and the tasks of calls. It works for a
/// bounded time, then lets the loop read the sockets. While nothing waits, messages are handled where they were read.
/// It uses `FairQueue` and not `ConcurrencyLimiter`: callbacks of one thread have no slots, only a cost.
final class LoopScheduler: LoopWorker, @unchecked Sendable {
  // Sendable because what is not behind the lock is touched on the event loop only, or never changes after `attach`.
  typealias Flow = FairQueue<Work>.Flow

  /// A piece of work.
  enum Work {
    /// A piece of a task, up to where it waits again.
    case job(UnownedJob, ConnectionTaskExecutor)
    /// Bytes of a connection that were read and not handled yet.
    case input(any ScheduledInput)
    /// A piece of a call that runs without a task.
    case posted(any PostedWork)
  }

  private struct State {
    var queue = FairQueue<Work>()
    var isRetired = false
  }

  /// How long it works before the loop reads the sockets: the longest wait of a connection with little work, in
  /// addition to the piece that is being done.
  static let quantum: Int64 = 150_000
  /// In each such time messages may be handled where they were read for as long as `quantum`.
  private static let window: Int64 = 1_000_000

  private let state = Locked(State())
  /// The loop that it works on, which releases it at its end.
  private var loop: EpollLoop?
  private var windowStart: Int64 = 0
  private var handledHere: Int64 = 0
  private var costs = WorkCost()

  /// Sets the loop that it works on; once, before it is used.
  func attach(_ loop: EpollLoop) { self.loop = loop }

  func open(uid: UInt32) -> Flow { state.withLock { $0.queue.open(uid: uid) } }

  func close(_ flow: Flow) { state.withLock { $0.queue.close(flow) } }

  /// Queues work; from any thread. False when the event loop takes nothing more.
  @discardableResult
  func add(_ work: Work, of flow: Flow) -> Bool {
    let isFirst = state.withLock { state -> Bool? in
      guard !state.isRetired else { return nil }
      defer { state.queue.add(work, of: flow) }
      return state.queue.isEmpty
    }
    guard let isFirst else { return false }
    // The loop itself looks at the queue before it waits.
    if isFirst, let loop, !loop.isCurrent { loop.wake() }
    return true
  }

  /// The event loop is to end: tasks come to their end on the shared pool, those that wait here included.
  func retire() {
    let waiting = state.withLock { state in
      state.isRetired = true
      var waiting: [Work] = []
      while let next = state.queue.next() { waiting.append(next.work) }
      return waiting
    }
    for work in waiting {
      switch work {
      case .job(let job, _): globalConcurrentExecutor.enqueue(ExecutorJob(job))
      case .posted(let work): Task { work.runPosted() }
      case .input: break
      }
    }
  }

  /// Whether work waits.
  var isCrowded: Bool { state.withLock { !$0.queue.isEmpty } }

  /// The time at which handling messages where they were read begins; nil when they have to be queued. On the event
  /// loop.
  func beginHere() -> Int64? {
    let now = Self.now
    let windows = (now - windowStart) / Self.window
    if windows > 0 {
      // Time beyond the share counts for the next windows: of the sockets that were ready meanwhile, not each gets a
      // share of its own.
      (windowStart, handledHere) = (now, max(0, handledHere - windows * Self.quantum))
    }
    guard handledHere < Self.quantum, !isCrowded else { return nil }
    return now
  }

  /// Whether to continue after `beginHere`.
  func mayContinue(since begin: Int64) -> Bool { handledHere + (Self.now - begin) < Self.quantum }

  /// Ends what `beginHere` began.
  func endHere(since begin: Int64, of flow: Flow) {
    let elapsed = Self.now - begin
    handledHere += elapsed
    let cost = costs.cost(elapsed: elapsed)
    state.withLock { $0.queue.charge(flow, cost) }
  }

  /// Works for a while; true when there is more to do.
  func work() -> Bool {
    var begin = Self.now
    let end = begin + Self.quantum
    var done: (flow: Flow, cost: Int64)?
    while true {
      let isOver = begin >= end
      let (next, isMore) = state.withLock { state -> ((work: Work, flow: Flow)?, Bool) in
        if let done { state.queue.charge(done.flow, done.cost) }
        return (isOver ? nil : state.queue.next(), isOver && !state.queue.isEmpty)
      }
      guard let next else { return isMore }
      if done == nil {
        (windowStart, handledHere) = (begin, 0)
        costs.beginRound()
      }
      switch next.work {
      case .job(let job, let executor): executor.run(job)
      case .input(let input): input.handleScheduled()
      case .posted(let work): work.runPosted()
      }
      let now = Self.now
      done = (next.flow, costs.cost(elapsed: now - begin))
      begin = now
    }
  }

  var hasWork: Bool { isCrowded }

  func stop() { retire() }

  /// The boot clock, in nanoseconds.
  static var now: Int64 { SystemClock().monotonicNow.nanoseconds }
}

/// Handles bytes of one connection that were read and wait for their turn.
protocol ScheduledInput: AnyObject {
  /// Handles some of them, on the event loop; adds itself again if there are more.
  func handleScheduled()
}
