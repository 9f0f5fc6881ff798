/// Runs work that needs much processor time elsewhere than on the thread that serves the caller's connection, and
/// others with it.
public struct LongWork: Sendable {
  private let bytes: Int
  private let executor: @Sendable () -> any TaskExecutor

  /// Work on `bytes` and more counts as long, and is done on what `executor` returns.
  public init(from bytes: Int, on executor: @escaping @Sendable () -> any TaskExecutor) {
    self.bytes = bytes
    self.executor = executor
  }

  /// The result of `body`, which works on `count` bytes.
  package func run<Value: Sendable, Failure: Error>(
    on count: Int, _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard count >= bytes else { return try body() }
    return try await Task(executorPreference: executor()) { Result(catching: body) }.value.get()
  }
}

extension LongWork: ConciseStringConvertible {}
