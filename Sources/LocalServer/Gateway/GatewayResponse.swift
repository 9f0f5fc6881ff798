package import HTTPMessages

/// Answers the requests of the gateway's listener.
package protocol GatewayResponder: Sendable {
  /// Answers one request with `begin`, any number of `write`, and `end`. The task is cancelled when the program has
  /// gone. What returns without `end` breaks the connection off, so that half a body never looks like a whole one.
  func respond(to request: GatewayRequest, with response: any GatewayResponse) async
}

/// The response to one request.
package protocol GatewayResponse: Sendable {
  /// Sends status and fields. `length` is the body's if that is known, and becomes `Content-Length`; without it the
  /// body goes in chunks (to HTTP/1.0: until the connection closes). The fields are sent as they are: they may have no
  /// `Content-Length`, `Transfer-Encoding` or `Connection`.
  func begin(status: Int, fields: HTTPFields, length: Int64?) async throws(GatewayClientGone)
  /// Sends a piece at once, and returns when the client's side has capacity for the next. Ignored for `HEAD`, 204 and
  /// 304.
  func write(_ bytes: [UInt8]) async throws(GatewayClientGone)
  /// Ends the response.
  func end() async throws(GatewayClientGone)
}

/// The program has closed its connection, or does not read what it requested.
package struct GatewayClientGone: Error, Sendable {
  package init() {}
}
