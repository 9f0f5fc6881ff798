import JSON
import JSONRPC
import Support

/// Work that may take the processor for long, away from the threads that serve connections.
///
/// The Swift runtime's own pool has as many threads as there are processors, so that this is also the bound on how much runs at once;
/// what waits looks at its deadline before it begins.
struct Computation: Sendable {
  let clock: any EngineClock

  func run<Value: Sendable>(
    _ context: CallContext, _ body: @escaping @Sendable () async throws(RPCFault) -> Value
  ) async throws(RPCFault) -> Value {
    try await withTaskExecutorPreference(globalConcurrentExecutor) { () async throws(RPCFault) in
      // What has queued up ahead of this may have taken a while.
      await Task.yield()
      guard !Task.isCancelled else { throw RPCFault(.requestCancelled) }
      guard !context.deadline.hasPassed(on: clock) else {
        throw RPCFault(.deadlineExceeded, data: ["retryable": true])
      }
      return try await body()
    }
  }
}
