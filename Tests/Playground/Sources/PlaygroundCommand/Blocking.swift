import Glibc

/// Runs `body` on the concurrency pool while this thread waits. Only for the main thread, whose signal mask everything
/// else inherits.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
  let outcome = Outcome<Result>()
  Task {
    do {
      outcome.settle(.success(try await body()))
    } catch {
      outcome.settle(.failure(error))
    }
  }
  return try outcome.wait().get()
}

/// The hand-over of one result from a task to a waiting thread.
// Sendable because `result` is written before the semaphore is posted and read after it was waited for.
private final class Outcome<Value: Sendable>: @unchecked Sendable {
  private let semaphore: UnsafeMutablePointer<sem_t>
  private var result: Result<Value, any Error>?

  init() {
    semaphore = .allocate(capacity: 1)
    semaphore.initialize(to: sem_t())
    sem_init(semaphore, 0, 0)
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func settle(_ result: Result<Value, any Error>) {
    self.result = result
    sem_post(semaphore)
  }

  func wait() -> Result<Value, any Error> {
    while sem_wait(semaphore) != 0 {}
    guard let result else { preconditionFailure("the semaphore is posted only with a result") }
    return result
  }
}
