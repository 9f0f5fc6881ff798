/// Answers requests: one type, one file per endpoint.
protocol Endpoint: Sendable {
  /// The answer to `request`. Throws `CancellationError` when the caller has gone; any other error becomes a 500.
  func reply(to request: Request) async throws -> Reply
}
