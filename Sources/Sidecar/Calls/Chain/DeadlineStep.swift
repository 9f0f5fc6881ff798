import PosternJSONRPC
import PosternSupport

/// Ends a call at its deadline (`meta.timeoutMs`).
final class DeadlineStep: Sendable {
  /// How long a method may take after the deadline to end by itself: it knows whether its request had an effect.
  private static let grace = Duration.milliseconds(100)
  /// How often the deadlines of calls without a task are compared with the clock.
  private static let interval = Duration.milliseconds(50)

  private struct State {
    var calls: [ObjectIdentifier: BoundedCall] = [:]
    /// Whether a task compares them with the clock.
    var isSweeping = false
  }

  private let clock: any EngineClock
  private let state = Locked(State())

  init(clock: any EngineClock) { self.clock = clock }

  /// Runs `body`, which knows its deadline; cancels it a little later, and returns `deadline_exceeded` then.
  func bounded(
    _ context: CallContext, _ body: @escaping @Sendable () async throws(RPCFault) -> RPCResult
  ) async -> Result<RPCResult, RPCFault> {
    guard let remaining = context.deadline.remaining(on: clock) else { return await Self.outcome(body) }
    return await withTaskGroup(of: Result<RPCResult, RPCFault>?.self) { group in
      group.addTask { await Self.outcome(body) }
      group.addTask { [clock] in
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

  /// The same for a call without a task, which knows its deadline.
  func bounded(_ context: CallContext, _ call: any BegunCall) -> any BegunCall {
    guard let deadline = context.deadline.instant else { return call }
    return BoundedCall(call, due: deadline + Self.grace, by: self)
  }

  fileprivate func watch(_ call: BoundedCall) {
    let isFirst = state.withLock { state in
      state.calls[ObjectIdentifier(call)] = call
      defer { state.isSweeping = true }
      return !state.isSweeping
    }
    if isFirst { Task { await sweep() } }
  }

  fileprivate func forget(_ call: BoundedCall) {
    state.withLock { _ = $0.calls.removeValue(forKey: ObjectIdentifier(call)) }
  }

  /// Expires calls as long as there are any.
  private func sweep() async {
    while true {
      try? await clock.sleep(for: Self.interval)
      let now = clock.monotonicNow
      let late = state.withLock { state -> [BoundedCall]? in
        guard !state.calls.isEmpty else {
          state.isSweeping = false
          return nil
        }
        let late = state.calls.values.filter { $0.due <= now }
        for call in late { state.calls[ObjectIdentifier(call)] = nil }
        return late
      }
      guard let late else { return }
      for call in late { call.expire() }
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

/// A call without a task that is cancelled when it is due, and then ends as `deadline_exceeded`.
private final class BoundedCall: BegunCall {
  let due: MonotonicInstant
  private let call: any BegunCall
  private let step: DeadlineStep
  private let isExpired = Locked(false)

  init(_ call: any BegunCall, due: MonotonicInstant, by step: DeadlineStep) {
    self.call = call
    self.due = due
    self.step = step
  }

  func run(_ end: @escaping @Sendable (Result<RPCResult, RPCFault>) -> Void) {
    step.watch(self)
    call.run { [self] outcome in
      step.forget(self)
      end(isExpired.withLock { $0 } ? .failure(RPCFault(.deadlineExceeded)) : outcome)
    }
  }

  func cancel() { call.cancel() }

  func expire() {
    isExpired.withLock { $0 = true }
    call.cancel()
  }
}
