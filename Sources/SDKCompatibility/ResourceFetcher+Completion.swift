public import ResourceAccess

extension ResourceFetcher {
  /// Fetches `request` from `server`, and calls `completion` with the outcome: exactly once, also when the task is
  /// cancelled and when the request is malformed.
  ///
  /// `completion` is called from a task of its own, never from within this call or from within `NetworkTask.cancel()`;
  /// the returned task has ended by then. It is the one in `options`, where there is one: it must be for this request,
  /// and for no other fetch.
  @discardableResult
  public func fetch(
    _ request: ResourceRequest, from server: ResourceServer, options: FetchOptions = FetchOptions(),
    completion: @escaping @Sendable (Result<ResourceResponse, ResourceError>) -> Void
  ) -> NetworkTask {
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
