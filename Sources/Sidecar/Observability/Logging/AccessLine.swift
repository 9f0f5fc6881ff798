package import Logging
import PosternJSON
package import PosternJSONRPC
package import PosternObservability
import PosternSupport

/// The metadata of a call's log line: never its params, nor anything of its result.
package struct AccessLine {
  package private(set) var metadata: Logger.Metadata

  package init(_ method: String, _ outcome: String, _ duration: Duration, _ trace: CallTrace, _ caller: PeerConnection)
  {
    metadata = .of([
      .method: .string(method), .outcome: .string(outcome),
      .uid: .stringConvertible(caller.peer.uid), .connection: .stringConvertible(caller.connection),
      .ms: .stringConvertible(duration.wholeMilliseconds), .traceId: .string(trace.traceID),
    ])
    if caller.peer.pid > 0 { metadata[.pid] = .stringConvertible(caller.peer.pid) }
    if let narrowing = caller.narrowing { metadata[.endpoint] = .string(narrowing.id) }
  }

  /// Adds names of the configuration.
  package mutating func add(_ names: [(key: LogKey, name: String)]) {
    for (key, name) in names { metadata[key] = .string(name) }
  }

  /// Adds the message of an error, and the status of the server that caused it. Not of invalid params: such a message
  /// may have the name of a member that the caller made up.
  package mutating func add(_ fault: RPCFault) {
    if fault.code != .invalidParams { metadata[.error] = .string(fault.message) }
    if let status = fault.upstream?.status { metadata[.status] = .stringConvertible(status) }
  }

  /// Adds the size of the text that the call came in, and of its result or error. The outcome stays as it is: what reads
  /// it must not depend on whether its size is logged.
  package mutating func add(sizeOf outcome: Result<RPCResult, RPCFault>, received byteCount: Int) {
    metadata[.bytesIn] = .stringConvertible(byteCount)
    let sent =
      switch outcome {
      case .failure(let fault): Self.size(of: fault.jsonValue)
      case .success(.text(let text)): text.bytes.count
      case .success(.value(let value)), .success(.passing(let value, _)): Self.size(of: value)
      }
    metadata[.bytesOut] = .stringConvertible(sent)
  }

  private static func size(of value: JSONValue) -> Int { JSONWriter().withBytes(of: value) { $0.count } }
}
