import NIOCore

/// Runs tasks on one event loop, so that a handler's task needs no hop between threads.
final class LoopTaskExecutor: TaskExecutor {
  private let eventLoop: any EventLoop

  init(eventLoop: any EventLoop) { self.eventLoop = eventLoop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
