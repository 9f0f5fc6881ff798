public import ResourceAccess

/// Requests to one resource server that no user is behind: with the application's own token, or without one.
///
/// Each request has an async form and one with a completion, over the same `ResourceFetcher`. In `options` what the
/// client decides (`authentication`, `session`) is overwritten.
public struct DeviceClient: Sendable {
  /// What is called with the outcome, exactly once; see `ResourceFetcher.fetch(_:from:options:completion:)`.
  public typealias Completion = @Sendable (Result<ResourceResponse, ResourceError>) -> Void

  private let fetcher: ResourceFetcher
  private let server: ResourceServer

  /// A client of `server`, whose `issuer` and `scope` say which token the application itself gets.
  public init(fetcher: ResourceFetcher, server: ResourceServer) {
    self.fetcher = fetcher
    self.server = server
  }

  /// Fetches with the application's own token (client credentials); `device_not_authenticated` when there is none to be
  /// had.
  public func sendAuthenticatedRequest(
    _ request: ResourceRequest, options: FetchOptions = FetchOptions()
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetcher.fetch(request, from: server, options: options.authenticated(.device))
  }

  /// As the async form, with a task to watch, hold and cancel it by.
  @discardableResult
  public func sendAuthenticatedRequest(
    _ request: ResourceRequest, options: FetchOptions = FetchOptions(), completion: @escaping Completion
  ) -> NetworkTask {
    fetcher.fetch(request, from: server, options: options.authenticated(.device), completion: completion)
  }

  /// Fetches without a token. Pins, origins and every other rule hold all the same.
  public func sendUnauthenticatedRequest(
    _ request: ResourceRequest, options: FetchOptions = FetchOptions()
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetcher.fetch(request, from: server, options: options.authenticated(.none))
  }

  /// As the async form, with a task to watch, hold and cancel it by.
  @discardableResult
  public func sendUnauthenticatedRequest(
    _ request: ResourceRequest, options: FetchOptions = FetchOptions(), completion: @escaping Completion
  ) -> NetworkTask {
    fetcher.fetch(request, from: server, options: options.authenticated(.none), completion: completion)
  }
}
