import Logging
import PosternJSON
package import PosternJSONRPC
import PosternObservability
import PosternSupport

// What the gateway reports of requests beside their calls.
extension SidecarService {
  /// Returns the error of a request of `uid` with the id of its trace. The error of no call has none: then the request is
  /// logged, with that of `traceparent`, if it is valid, else with a new one.
  package func traced(_ fault: RPCFault, continuing traceparent: String?, of uid: UInt32) -> RPCFault {
    guard fault.traceID == nil else { return fault }
    let trace = CallTrace(continuing: traceparent)
    callersLog.log(
      .notice, "gateway: a request was rejected", of: uid,
      .of([
        .reason: .string(fault.code.reason), .error: .string(fault.message), .uid: .stringConvertible(uid),
        .traceId: .string(trace.traceID),
      ]))
    var fault = fault
    fault.traceID = trace.traceID
    return fault
  }

  /// Logs that an identity header is empty because its claim cannot be written; `field` and `claim` are configured.
  package func identityIsEmpty(_ field: String, of claim: String, at api: String, why reason: String, for uid: UInt32) {
    callersLog.log(
      .warning, "an identity header is empty, because its claim cannot be written", about: "\(api) \(field)", of: uid,
      .of([
        .claim: .string(claim), .what: .string("\(field) of gateway.protect.\(api)"), .reason: .string(reason),
        .uid: .stringConvertible(uid),
      ]))
  }
}
