import PosternJSONRPC
import PosternSupport

/// Ends a call at its deadline (`meta.timeoutMs`).
struct DeadlineStep: Sendable {
  /// How long a method may take after the deadline to end by itself: it knows whether its request had an effect.
  private static let grace = Duration.milliseconds(100)

  let clock: any EngineClock

  /// Runs `body`, which knows its deadline; cancels it a little later, and returns `deadline_exceeded` then.
  func bounded(
    _ context: CallContext, _ body: @escaping @Sendable () async throws(RPCFault) -> RPCResult
  ) async -> Result<RPCResult, RPCFault> {
    guard let remaining = context.deadline.remaining(on: clock) else { return await Self.outcome(body) }
    return await withTaskGroup(of: Result<RPCResult, RPCFault>?.self) { group in
      group.addTask { await Self.outcome(body) }
      group.addTask {
        do {
          try await clock.sleep(for: remaining + Self.grace)
          return .failure(RPCFault(.deadlineExceeded))
        } catch {
          return nil
        }
      }
      defer { group.cancelAll() }
      while let first = await group.next() {
        if let first { return first }
      }
      return .failure(RPCFault(.requestCancelled))
    }
  }

  private static func outcome(
    _ body: @Sendable () async throws(RPCFault) -> RPCResult
  ) async -> Result<RPCResult, RPCFault> {
    do {
      return .success(try await body())
    } catch {
      return .failure(error)
    }
  }
}
