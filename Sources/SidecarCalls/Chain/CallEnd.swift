package import Logging
import PosternJSON
import PosternJSONRPC
import PosternSupport
import SidecarAccess
package import SidecarObservability

/// The settings of metrics and log for all calls.
package struct CallLog: Sendable {
  package let metrics: MetricsRegistry
  let logger: Logger
  /// Whether each call is logged at `info`, with the sizes of its messages.
  let logsAccess: Bool
  /// Called at the end of each call, with the bytes of the message it came in.
  let onCallEnd: @Sendable (Int) -> Void

  package init(
    metrics: MetricsRegistry, logger: Logger, logsAccess: Bool, onCallEnd: @escaping @Sendable (Int) -> Void
  ) {
    self.metrics = metrics
    self.logger = logger
    self.logsAccess = logsAccess
    self.onCallEnd = onCallEnd
  }

  /// Whether the log shows the size of a result that takes long to write.
  func measures(_ outcome: Result<RPCResult, RPCFault>) -> Bool {
    guard logsAccess, case .success(.value(let value)) = outcome else { return false }
    return value.weight(upTo: JSONRPCConnection.longText) >= JSONRPCConnection.longText
  }
}

/// Counts and logs the end of one call.
struct CallEnd: Sendable {
  /// The time of the call's arrival.
  let start: MonotonicInstant
  private let method: String
  /// The method's name as a label of metrics, which callers cannot make up.
  private let label: String
  private let byteCount: Int
  private let caller: PeerConnection
  private let log: CallLog
  private let clock: any EngineClock

  init(of call: Call, isKnown: Bool, from caller: PeerConnection, _ environment: CallEnvironment) {
    start = environment.clock.monotonicNow
    method = call.method
    label = isKnown ? call.method : "unknown"
    byteCount = call.byteCount
    self.caller = caller
    log = environment.log
    clock = environment.clock
  }

  /// Cuts text from a caller for logs and errors; counted in bytes, because a single character may have millions.
  static func shortened(_ text: String) -> String { String(decoding: text.utf8.prefix(64), as: UTF8.self) }

  /// Counts and logs the outcome, and returns it with the trace id in an error.
  func report(
    _ outcome: Result<RPCResult, RPCFault>, _ trace: CallTrace = .none
  ) -> Result<RPCResult, RPCFault> {
    let duration = clock.monotonicNow - start
    var outcome = outcome
    var reason = "result"
    if case .failure(var fault) = outcome {
      reason = fault.code.reason
      if !trace.traceID.isEmpty { fault.data["traceId"] = .string(trace.traceID) }
      outcome = .failure(fault)
    }
    log.metrics.callEnded(label, reason, after: duration)
    log.onCallEnd(byteCount)
    let level: Logger.Level = reason == RPCErrorCode.internalError.reason ? .error : log.logsAccess ? .info : .debug
    guard log.logger.logLevel <= level else { return outcome }
    var line = AccessLine(Self.shortened(method), reason, duration, trace, caller)
    if log.logsAccess { outcome = line.measure(outcome, received: byteCount) }
    log.logger.log(level: level, "call ended", metadata: line.metadata)
    return outcome
  }
}
