import PosternSupport

/// Runs the tasks of one connection on its event loop, as `LoopScheduler` orders them, so that a handler's task needs
/// no hop between threads, and no connection's tasks delay those of others.
final class ConnectionTaskExecutor: TaskExecutor, WorkPoster {
  let scheduler: LoopScheduler
  let flow: LoopScheduler.Flow

  init(_ scheduler: LoopScheduler, uid: UInt32) {
    self.scheduler = scheduler
    flow = scheduler.open(uid: uid)
  }

  deinit { scheduler.close(flow) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // On the shared pool when the loop is to end.
    if !scheduler.add(.job(job, self), of: flow) { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
  }

  func post(_ work: any PostedWork) {
    if !scheduler.add(.posted(work), of: flow) { Task { work.runPosted() } }
  }

  /// Runs a job of this executor's.
  func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}
