import JSON
import JSONRPC
import Protocol
import Support

/// What bounds calls beside access: how often, how many at a time, and whose turn it is.
extension ConnectionDispatcher {
  /// What is asked to find out whether the sidecar is well.
  static let probes: Set<String> = [Health.name, GetInfo.name]
  /// What takes no place and no turn: what continues another call, which is not over before, and what must be answered when nothing
  /// else is.
  static let free: Set<String> = [AuthenticateWithAdvice.name, ReloadConfig.name, Health.name]
  /// When to come again, where nobody can know.
  static let pause = Duration.milliseconds(100)

  static func overloaded(_ message: String, retryAfter wait: Duration) -> RPCFault {
    RPCFault(
      .overloaded, message,
      data: ["retryable": true, "retryAfterMs": .integer(max(1, wait.wholeMilliseconds + 1)), "outcome": "not_sent"])
  }

  /// Runs `body` when there is a place among the calls under way.
  func inTurn(
    _ context: CallContext, waits: Bool, _ body: () async -> Result<RPCResult, RPCFault>
  ) async -> Result<RPCResult, RPCFault> {
    let holder = caller.requester
    if waits {
      do throws(FairGate.Refusal) {
        let waited = try await service.gate.enter(holder, context.runtime.callLimits, until: context.deadline)
        if waited > .zero { service.metrics.callWaited(waited) }
      } catch {
        return .failure(refused(error))
      }
    } else {
      service.gate.enterAnyway(holder)
    }
    defer { service.gate.leave(holder) }
    return await body()
  }

  private func refused(_ refusal: FairGate.Refusal) -> RPCFault {
    switch refusal {
    case .cancelled: return RPCFault(.requestCancelled)
    case .deadlinePassed: return RPCFault(.deadlineExceeded, data: ["retryable": true, "outcome": "not_sent"])
    case .full, .late:
      service.metrics.callRefused(refusal.rawValue)
      return Self.overloaded("Too many calls under way", retryAfter: Self.pause)
    }
  }
}
