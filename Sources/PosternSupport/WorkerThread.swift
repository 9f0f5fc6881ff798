package import Glibc

/// A thread that takes jobs from an inbox until it is stopped, or several threads that share one inbox.
///
/// The inbox is any value. The closures that change it decide what fits and which job is next; they run under the lock
/// and must not call out, as with `Locked`. Inlinable for the same reason as `Locked`.
package final class WorkerThread<Inbox>: @unchecked Sendable {
  // Sendable because `inbox` and `isStopped` are only touched between lock and unlock of `mutex`.
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline let condition: UnsafeMutablePointer<pthread_cond_t>
  @usableFromInline var inbox: Inbox
  @usableFromInline var isStopped = false
  /// Not behind `mutex`, so that a closure that changes the inbox can start the thread for it.
  private let running = Locked((count: 0, joiners: [Reply<Void>]()))

  /// A worker without a thread yet.
  @inlinable
  package init(_ inbox: sending Inbox) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
    self.inbox = inbox
  }

  @inlinable
  deinit {
    pthread_cond_destroy(condition)
    condition.deinitialize(count: 1)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }

  // MARK: - From any thread

  /// Starts a thread that runs `body`. `body` calls `next` for each job, and returns when `next` returns nil. The thread
  /// retains what `body` captures until then.
  ///
  /// - Parameter name: what `ps -L` and a debugger show, at most 15 bytes of it.
  package func start(
    _ name: StaticString, _ body: @escaping @Sendable () -> Void
  ) throws(SystemThread.StartError) {
    running.withLock { $0.count += 1 }
    do throws(SystemThread.StartError) {
      try SystemThread.start(name) { [self] in
        body()
        threadEnded()
      }
    } catch {
      threadEnded()
      throw error
    }
  }

  /// Changes the inbox, and wakes a thread to look at it; nil, and nothing is changed, once the worker is stopped.
  @inlinable
  @discardableResult
  package func submit<Result>(_ change: (inout Inbox) -> Result) -> Result? {
    pthread_mutex_lock(mutex)
    let result: Result? = isStopped ? nil : change(&inbox)
    pthread_mutex_unlock(mutex)
    pthread_cond_signal(condition)
    return result
  }

  /// Runs `body` with exclusive access to the inbox, also when the worker is stopped, and wakes no thread.
  @inlinable
  package func withInbox<Result>(_ body: (inout Inbox) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&inbox)
  }

  /// Accepts nothing more; a thread ends when it finds no job.
  @inlinable
  package func stop() { stop { _ in } }

  /// Accepts nothing more, after `change`, which may leave a last job in the inbox, or clear it.
  @inlinable
  package func stop<Result>(_ change: (inout Inbox) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    isStopped = true
    let result = change(&inbox)
    pthread_mutex_unlock(mutex)
    pthread_cond_broadcast(condition)
    return result
  }

  /// Returns when no thread of the worker runs. `stop` comes first.
  package func join() async {
    let ended = Reply<Void>()
    let isOver = running.withLock { running in
      if running.count > 0 { running.joiners.append(ended) }
      return running.count == 0
    }
    if !isOver { await ended.value() }
  }

  // MARK: - On the thread

  /// Waits until `take` finds a job. Nil when it finds none and the worker is stopped, or `limit` has passed.
  @inlinable
  package func next<Job>(within limit: Duration? = nil, _ take: (inout Inbox) -> Job?) -> Job? {
    var deadline = timespec()
    if let limit {
      clock_gettime(CLOCK_MONOTONIC, &deadline)
      let nanoseconds = Int64(deadline.tv_nsec) + max(.zero, limit).wholeMilliseconds * 1_000_000
      deadline.tv_sec += Int(nanoseconds / 1_000_000_000)
      deadline.tv_nsec = Int(nanoseconds % 1_000_000_000)
    }
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let job = take(&inbox) { return job }
      if isStopped { return nil }
      guard limit != nil else {
        pthread_cond_wait(condition, mutex)
        continue
      }
      if pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT { return take(&inbox) }
    }
  }

  private func threadEnded() {
    let joiners = running.withLock { running in
      running.count -= 1
      guard running.count == 0 else { return [Reply<Void>]() }
      defer { running.joiners = [] }
      return running.joiners
    }
    for joiner in joiners { joiner.fill(()) }
  }
}

extension WorkerThread: ConciseStringConvertible {
  /// Without the inbox, which another thread may be changing.
  package var description: String { "worker" }
}
