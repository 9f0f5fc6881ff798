import HTTPMessages
import PosternSupport

/// What an HTTP connection needs from its server: the gateway, or the status listener.
protocol HTTPServer: AnyObject, Sendable {
  /// The sizes of a request's parts.
  var requestLimits: RequestGuard.Limits { get }
  var timeouts: HTTPTimeouts { get }
  /// Whether connections are closed after their response.
  var isDraining: Bool { get }
  /// The bytes that connections have in memory.
  var held: Locked<SharedBudget> { get }

  /// The fields of a request for its responder; on the connection's event loop.
  func fields(of head: RequestHead, on connection: HTTPConnection) throws(RequestRejection) -> HTTPFields
  /// Reports a request that was rejected before a responder saw it, and returns the id of its trace.
  func report(
    _ rejection: RequestRejection, of caller: GatewayRequest.Program, traceparent: String?
  ) -> String
  /// The whole response to a rejected request, after which the connection is closed.
  func response(to rejection: RequestRejection, isToHead: Bool, traceID: String) -> [UInt8]
  /// A task begins to answer a request: the loops end after the last such task.
  func responderStarts(on connection: HTTPConnection)
  func responderEnds(on connection: HTTPConnection)
}

/// How long HTTP connections may take.
package struct HTTPTimeouts: Sendable {
  /// For a header section, from the connection's begin or the section's first byte.
  package var head = Duration.seconds(30)
  /// For the next request.
  package var idle = Duration.seconds(60)
  /// For bytes of a body that are waited for, and for the client to take what waits for it. A body also has to come
  /// with 64 KiB, or its end, in ten times as long.
  package var stall = Duration.seconds(30)
  /// For the rest of a body that was not wanted.
  package var discard = Duration.seconds(5)
  /// For the client's end after this side has closed, and on the loopback address for a response after the client's
  /// side has closed.
  package var linger = Duration.seconds(1)
  /// For the first request of a connection that is new when the server drains.
  var acceptGrace = Duration.milliseconds(50)
}
