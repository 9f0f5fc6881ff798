package import HTTPMessages

/// Answers the requests of the gateway's listener.
package protocol GatewayResponder: Sendable {
  /// A connection opens, whose requests it will answer.
  func connectionOpens()
  /// Such a connection is closed.
  func connectionCloses()
  /// The answer to a request that needs no task of its own; nil: `respond` answers it. Called on the connection's event
  /// loop.
  func begin(_ request: GatewayRequest, _ response: any GatewayResponse) -> (any BegunResponse)?
  /// Answers one request with `begin`, any number of `write`, and `end`. The task is cancelled when the program has
  /// gone. What returns without `end` breaks the connection off, so that half a body never looks like a whole one.
  func respond(to request: GatewayRequest, with response: any GatewayResponse) async
}

extension GatewayResponder {
  /// Counts nothing.
  package func connectionOpens() {}

  /// Counts nothing.
  package func connectionCloses() {}

  /// None.
  package func begin(_ request: GatewayRequest, _ response: any GatewayResponse) -> (any BegunResponse)? { nil }
}

/// The answer to a request without a task of its own.
package protocol BegunResponse: AnyObject, Sendable {
  /// Answers; called once, on the connection's event loop. `whenEnded` is called once, on any thread: a response that
  /// has not ended by then breaks the connection off.
  func run(whenEnded: @escaping @Sendable () -> Void)
  /// The program has gone. May be called at any time, on any thread.
  func cancel()
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
  /// Sends a whole response, and calls `whenTaken`, on any thread, when the program has received it, or has gone.
  func answer(
    status: Int, fields: HTTPFields, length: Int64?, body: [UInt8], whenTaken: @escaping @Sendable () -> Void)
}

extension GatewayResponse {
  /// Sends a whole response, and returns when the program has received it, or has gone.
  package func answer(status: Int, fields: HTTPFields, body: [UInt8] = []) async {
    await withCheckedContinuation { continuation in
      answer(status: status, fields: fields, length: Int64(body.count), body: body) { continuation.resume() }
    }
  }
}

/// The program has closed its connection, or does not read what it requested.
package struct GatewayClientGone: Error, Sendable {
  package init() {}
}
