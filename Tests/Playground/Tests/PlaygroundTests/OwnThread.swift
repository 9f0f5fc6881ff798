import Glibc

/// Runs blocking `work` on a thread of its own, so that it never holds one of the few threads the server under test
/// runs on.
func onOwnThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
    let job = Unmanaged.passRetained(Job { continuation.resume(with: Result { try work() }) })
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Job>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, job.toOpaque())
    if status == 0 {
      pthread_detach(thread)
    } else {
      job.release()
      continuation.resume(throwing: RawHTTP.Failure("no thread"))
    }
  }
}

private final class Job: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
