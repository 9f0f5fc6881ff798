import Glibc
import PosternSupport

/// A pool of as many threads as there are processors, for work that may take long, shared fairly between uids, and
/// between the connections of each. The threads are started when they are first needed.
package final class FairPool: Sendable {
  private let core = PoolCore()

  package init() {}

  deinit { core.stop() }

  /// Runs the tasks of one connection of `uid`.
  package func executor(for uid: UInt32) -> PoolExecutor { PoolExecutor(core, uid: uid) }
}

extension FairPool {
  /// Runs `body`, on the pool's threads when it `isLong`.
  package func run<Value: Sendable>(
    for caller: PeerConnection, if isLong: Bool, _ body: @escaping @Sendable () -> Value
  ) async -> Value {
    guard isLong else { return body() }
    return await Task(executorPreference: caller.executor(in: self)) { body() }.value
  }
}

/// Runs tasks on a pool's threads, in the order of its `FairQueue`. Not a `ConcurrencyLimiter`: a job runs until it
/// suspends, and only then is its cost known.
package final class PoolExecutor: TaskExecutor {
  private let core: PoolCore
  private let flow: PoolCore.Flow

  fileprivate init(_ core: PoolCore, uid: UInt32) {
    self.core = core
    flow = core.open(uid: uid)
  }

  deinit { core.close(flow) }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if !core.add(PoolCore.Work(job: job, executor: self), of: flow) {
      // No thread could be started: the runtime's own do it, in their order.
      globalConcurrentExecutor.enqueue(job)
    }
  }

  fileprivate func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}

/// The state that the threads of a pool share; lives as long as one of them, the pool or an executor does.
private final class PoolCore: Sendable {
  typealias Flow = FairQueue<Work>.Flow
  typealias State = PoolState<Work>

  struct Work {
    let job: UnownedJob
    let executor: PoolExecutor
  }

  private let worker = WorkerThread(State(size: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

  func open(uid: UInt32) -> Flow { worker.withInbox { $0.open(uid: uid) } }

  func close(_ flow: Flow) { worker.withInbox { $0.close(flow) } }

  /// Adds work; false when there is no thread for it, or the pool is stopped.
  func add(_ work: Work, of flow: Flow) -> Bool {
    // Threads are started behind the lock too, so that no work is added for one that does not start.
    worker.submit { $0.add(work, of: flow, startThread: startThread) } ?? false
  }

  /// The threads end when nothing is left to be done.
  func stop() { worker.stop() }

  private func startThread() -> Bool {
    (try? worker.start("postern-pool") { self.work() }) != nil
  }

  private func work() {
    while let next = worker.next({ $0.next() }) {
      let begin = ThreadTime.now
      next.work.executor.run(next.work.job)
      let cost = ThreadTime.now - begin
      worker.withInbox { $0.charge(next.flow, cost) }
    }
  }
}
