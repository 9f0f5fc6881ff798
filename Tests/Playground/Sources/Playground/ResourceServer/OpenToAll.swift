/// An endpoint without a token check, counted.
struct OpenToAll: Endpoint {
  let inner: any Endpoint
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.openRequests)
    return try await inner.reply(to: request)
  }
}
