import PosternJSONRPC
import PosternObservability
import PosternSupport

extension CallTracer {
  /// Ends the span of the call itself, `trace`.
  func callEnded(
    _ method: String, _ outcome: Result<RPCResult, RPCFault>, _ caller: PeerConnection, _ trace: CallTrace
  ) {
    var span = TelemetrySpan(
      traceID: traceID, spanID: trace.spanID, parentID: trace.parentID, name: method, kind: .server,
      start: began.wall.millisecondsSinceEpoch * 1_000_000, end: now,
      attributes: [
        ("rpc.system", .string("jsonrpc")), ("rpc.jsonrpc.version", .string("2.0")),
        ("rpc.service", .string("postern")),
        ("rpc.method", .string(method)), ("network.transport", .string("unix")),
        ("postern.peer.uid", .integer(Int64(caller.peer.uid))),
      ])
    if case .failure(let fault) = outcome {
      span.attributes.append(("rpc.jsonrpc.error_code", .integer(Int64(fault.code.number))))
      span.fail(fault.code.reason)
    }
    exporter.export(span)
  }
}
