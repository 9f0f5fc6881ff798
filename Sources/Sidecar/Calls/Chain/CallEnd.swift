package import Logging
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternObservability
package import PosternSupport

/// The settings of metrics and log for all calls.
package final class CallLog: Sendable {
  package let metrics: MetricsRegistry
  let logger: Logger
  /// Whether each call is logged at `info`, with the sizes of its messages.
  let logsAccess: Bool
  /// Called at the end of each call, with the bytes of the message it came in.
  let onCallEnd: @Sendable (Int) -> Void
  /// The lines about connections.
  package let connections: ConnectionLog
  /// The lines about errors, for each uid: a flood of a uid's is bounded, and takes no other's lines.
  private let errors: BoundedLog
  /// The lines about calls that were rejected by a rule or a limit, or are of no method: they cost a caller nothing.
  private let rejections: BoundedLog

  package init(
    metrics: MetricsRegistry, logger: Logger, logsAccess: Bool, clock: any EngineClock,
    onCallEnd: @escaping @Sendable (Int) -> Void
  ) {
    self.metrics = metrics
    self.logger = logger
    self.logsAccess = logsAccess
    self.onCallEnd = onCallEnd
    connections = ConnectionLog(logger, clock: clock)
    errors = BoundedLog(logger, clock: clock, rate: RateLimit(perSecond: 1, burst: 1000))
    rejections = BoundedLog(logger, clock: clock, rate: RateLimit(perSecond: 0.1, burst: 100))
  }

  /// Logs a call that a connection rejected without reading it, because too many are in flight.
  func rejectedUnread(_ caller: PeerConnection) {
    rejections.log(
      .notice, "call rejected", of: caller.peer.uid,
      .of([
        .connection: .stringConvertible(caller.connection), .uid: .stringConvertible(caller.peer.uid),
        .reason: "limits.inFlightPerConnection",
      ]))
  }

  /// How a call that ended in `fault` is logged; nil where its line is left out, because there are too many.
  fileprivate func line(for fault: RPCFault, of uid: UInt32) -> (level: Logger.Level, notLogged: Int64)? {
    let (level, bound): (Logger.Level, BoundedLog?) =
      switch fault.code {
      case .internalError: (.error, nil)
      case .peerForbidden, .overloaded: (.notice, rejections)
      case .methodNotFound: (.info, rejections)
      default: (.info, errors)
      }
    guard let bound, !logsAccess, logger.logLevel <= level else { return (level, 0) }
    return bound.admit("call ended", of: uid).map { (level, $0) }
  }

  /// Whether the log shows the size of a result that takes long to write.
  func measures(_ outcome: Result<RPCResult, RPCFault>) -> Bool {
    guard logsAccess, case .success(.value(let value)) = outcome else { return false }
    return value.weight(upTo: JSONRPCConnection.longText) >= JSONRPCConnection.longText
  }
}

/// Counts and logs the end of one call. An object: it is handed on from step to step.
final class CallEnd: Sendable {
  /// The time of the call's arrival.
  let start: MonotonicInstant
  private let method: String
  /// The method's name as a label of metrics, which callers cannot make up.
  private let label: String
  private let byteCount: Int
  /// The names of the configuration in the call's params.
  private let names: CallNames
  private let caller: PeerConnection
  private let log: CallLog
  private let snapshot: @Sendable () -> ConfigurationSnapshot
  private let clock: any EngineClock

  init(of call: Call, isKnown: Bool, from caller: PeerConnection, _ environment: CallEnvironment) {
    start = environment.clock.monotonicNow
    method = call.method
    label = isKnown ? call.method : "unknown"
    byteCount = call.byteCount
    names = CallNames(call.params)
    self.caller = caller
    log = environment.log
    snapshot = environment.snapshot
    clock = environment.clock
  }

  /// Cuts text from a caller for logs and errors; counted in bytes, because a single character may have millions.
  static func shortened(_ text: String) -> String { String(decoding: text.utf8.prefix(64), as: UTF8.self) }

  /// Counts and logs the outcome, and returns it with the trace id in an error, whether or not the log has a line.
  func report(
    _ outcome: Result<RPCResult, RPCFault>, _ trace: CallTrace = .none
  ) -> Result<RPCResult, RPCFault> {
    let duration = clock.monotonicNow - start
    log.onCallEnd(byteCount)
    guard case .failure(var fault) = outcome else {
      log.metrics.callEnded(label, "result", after: duration)
      log(outcome, at: log.logsAccess ? .info : .debug, "result", duration, trace)
      return outcome
    }
    log.metrics.callEnded(label, fault.code.reason, after: duration)
    let line = log.line(for: fault, of: caller.peer.uid)
    if !trace.isNone { fault.traceID = trace.traceID }
    let outcome = Result<RPCResult, RPCFault>.failure(fault)
    if let line { log(outcome, at: line.level, fault.code.reason, duration, trace, notLogged: line.notLogged) }
    return outcome
  }

  private func log(
    _ outcome: Result<RPCResult, RPCFault>, at level: Logger.Level, _ reason: String, _ duration: Duration,
    _ trace: CallTrace, notLogged: Int64 = 0
  ) {
    guard log.logger.logLevel <= level else { return }
    var line = AccessLine(Self.shortened(method), reason, duration, trace, caller)
    line.add(names.configured(in: snapshot()))
    if case .failure(let fault) = outcome { line.add(fault) }
    if log.logsAccess { line.add(sizeOf: outcome, received: byteCount) }
    log.logger.log(level: level, "call ended", metadata: BoundedLog.metadata(line.metadata, notLogged))
  }
}

/// The names of the configuration in a call's params. Not a copy of the params: those may be large.
private struct CallNames: Sendable {
  private let resource: String?
  private let issuer: String?
  private let provider: String?

  init(_ params: JSONTree?) {
    resource = params?["resource"]?.stringValue
    issuer = params?["issuer"]?.stringValue
    provider = params?["provider"]?.stringValue
  }

  /// The names that are configured, by their keys in the log: any other may be anything.
  func configured(in snapshot: ConfigurationSnapshot) -> [(key: LogKey, name: String)] {
    var names: [(key: LogKey, name: String)] = []
    if let resource, snapshot.values.hasResource(resource) { names.append((.resource, resource)) }
    if let issuer, snapshot.issuers[issuer] != nil { names.append((.issuer, issuer)) }
    if let provider, snapshot.decisionPoints[provider] != nil { names.append((.provider, provider)) }
    return names
  }
}
