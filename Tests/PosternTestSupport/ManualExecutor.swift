import PosternSupport

/// Keeps jobs until the test runs them.
public final class ManualExecutor: TaskExecutor {
  private let jobs = Locked<[UnownedJob]>([])

  /// An executor without jobs.
  public init() {}

  /// Keeps the job.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  /// How many jobs wait.
  public var count: Int { jobs.withLock { $0.count } }

  /// Runs the job that came first; false when there is none.
  public func runOne() -> Bool {
    guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
    job.runSynchronously(on: asUnownedTaskExecutor())
    return true
  }
}
