import PosternJSON
package import PosternJSONRPC
package import PosternSupport

/// Work that may take the processor for long, away from the threads that serve connections.
///
/// The pool has as many threads as there are processors, so that this is also the bound on how much runs at once, and
/// shares them fairly among the callers; what waits looks at its deadline before it begins.
package struct CPUOffload: Sendable {
  let clock: any EngineClock
  let pool: FairPool

  package init(clock: any EngineClock, pool: FairPool) {
    self.clock = clock
    self.pool = pool
  }

  package func run<Value: Sendable>(
    _ context: CallContext, _ body: @escaping @Sendable () async throws(RPCFault) -> Value
  ) async throws(RPCFault) -> Value {
    try await withTaskExecutorPreference(context.caller.executor(in: pool)) { () async throws(RPCFault) in
      // What has queued up ahead of this may have taken a while.
      await Task.yield()
      guard !Task.isCancelled else { throw RPCFault(.requestCancelled) }
      guard !context.deadline.hasPassed(on: clock) else {
        throw RPCFault(.deadlineExceeded, isRetryable: true)
      }
      return try await body()
    }
  }
}
