public import ResourceAccess

extension ResourceFetcher {
  /// Fetches `request` as it is now; see `fetch(_:from:options:)`.
  public func fetch(
    _ request: some ResourceRequestConvertible, from server: ResourceServer, options: FetchOptions = FetchOptions()
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetch(request.resourceRequest, from: server, options: options)
  }

  /// Fetches `request` from `server`, and calls `completion` with the outcome: exactly once, also when the task is
  /// cancelled and when the request is malformed.
  ///
  /// `completion` is called from a task of its own, never from within this call or from within `NetworkTask.cancel()`;
  /// the returned task has ended by then. It is the one in `options`, where there is one: it must be for this request,
  /// and for no other fetch.
  @discardableResult
  public func fetch(
    _ request: some ResourceRequestConvertible, from server: ResourceServer, options: FetchOptions = FetchOptions(),
    completion: @escaping @Sendable (Result<ResourceResponse, ResourceError>) -> Void
  ) -> NetworkTask {
    let request = request.resourceRequest
    let task = options.task ?? NetworkTask(request: request, clock: clock)
    var options = options
    options.task = task
    Task { [options] in
      let result: Result<ResourceResponse, ResourceError>
      do throws(ResourceError) {
        result = .success(try await fetch(request, from: server, options: options))
      } catch {
        result = .failure(error)
      }
      completion(result)
    }
    return task
  }
}
