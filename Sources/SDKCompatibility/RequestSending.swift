import OAuthClient
import PosternSupport
public import ResourceAccess

/// Takes the outcome, exactly once; see `ResourceFetcher.fetch(_:from:options:completion:)`.
public typealias FetchCompletion = @Sendable (Result<ResourceResponse, ResourceError>) -> Void

/// The same in two parameters, one of which is nil, as in the mobile SDKs.
public typealias FetchCompletionParts = @Sendable (ResourceResponse?, ResourceError?) -> Void

/// The port to requests with a token: a part of the ports to clients, `UserRequestSending` and `DeviceRequestSending`.
///
/// A double needs the asynchronous forms; those with a completion follow from them.
public protocol AuthenticatedRequestSending: Sendable {
  /// Fetches with the token of the client: a user's who has logged in, or the application's own.
  func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions
  ) async throws(ResourceError) -> ResourceResponse

  /// Fetches as the asynchronous form does, with a task to watch, pause and cancel it by.
  @discardableResult
  func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask
}

extension AuthenticatedRequestSending {
  /// Fetches with the token of the client: a user's who has logged in, or the application's own.
  public func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible
  ) async throws(ResourceError) -> ResourceResponse {
    try await sendAuthenticatedRequest(request, options: FetchOptions())
  }

  /// Fetches as the asynchronous form does, with a task to watch it by.
  @discardableResult
  public func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    NetworkTask.begin(request.resourceRequest, options, completion) { [self] request, options throws(ResourceError) in
      try await sendAuthenticatedRequest(request, options: options)
    }
  }

  /// Fetches as the asynchronous form does, with a task to watch it by.
  @discardableResult
  public func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    sendAuthenticatedRequest(request, options: FetchOptions(), completion: completion)
  }

  /// The same with a completion of two parameters.
  @discardableResult
  public func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions = FetchOptions(),
    completion: @escaping FetchCompletionParts
  ) -> NetworkTask {
    sendAuthenticatedRequest(request, options: options) { result in NetworkTask.split(result, for: completion) }
  }
}

/// The port to requests in the name of a user: `UserClient`, or a double in a program's tests.
public protocol UserRequestSending: AuthenticatedRequestSending {
  /// Fetches with the token of a user recognised without interaction.
  func sendImplicitRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions
  ) async throws(ResourceError) -> ResourceResponse

  /// Fetches as the asynchronous form does, with a task to watch, pause and cancel it by.
  @discardableResult
  func sendImplicitRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask
}

extension UserRequestSending {
  /// Fetches with the token of a user recognised without interaction.
  public func sendImplicitRequest(
    _ request: some ResourceRequestConvertible
  ) async throws(ResourceError) -> ResourceResponse {
    try await sendImplicitRequest(request, options: FetchOptions())
  }

  /// Fetches as the asynchronous form does, with a task to watch it by.
  @discardableResult
  public func sendImplicitRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    NetworkTask.begin(request.resourceRequest, options, completion) { [self] request, options throws(ResourceError) in
      try await sendImplicitRequest(request, options: options)
    }
  }

  /// Fetches as the asynchronous form does, with a task to watch it by.
  @discardableResult
  public func sendImplicitRequest(
    _ request: some ResourceRequestConvertible, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    sendImplicitRequest(request, options: FetchOptions(), completion: completion)
  }

  /// The same with a completion of two parameters.
  @discardableResult
  public func sendImplicitRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions = FetchOptions(),
    completion: @escaping FetchCompletionParts
  ) -> NetworkTask {
    sendImplicitRequest(request, options: options) { result in NetworkTask.split(result, for: completion) }
  }
}

/// The port to requests without a user: `DeviceClient`, or a double in a program's tests.
public protocol DeviceRequestSending: AuthenticatedRequestSending {
  /// Fetches without a token.
  func sendUnauthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions
  ) async throws(ResourceError) -> ResourceResponse

  /// Fetches as the asynchronous form does, with a task to watch, pause and cancel it by.
  @discardableResult
  func sendUnauthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask
}

extension DeviceRequestSending {
  /// Fetches without a token.
  public func sendUnauthenticatedRequest(
    _ request: some ResourceRequestConvertible
  ) async throws(ResourceError) -> ResourceResponse {
    try await sendUnauthenticatedRequest(request, options: FetchOptions())
  }

  /// Fetches as the asynchronous form does, with a task to watch it by.
  @discardableResult
  public func sendUnauthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    NetworkTask.begin(request.resourceRequest, options, completion) { [self] request, options throws(ResourceError) in
      try await sendUnauthenticatedRequest(request, options: options)
    }
  }

  /// Fetches as the asynchronous form does, with a task to watch it by.
  @discardableResult
  public func sendUnauthenticatedRequest(
    _ request: some ResourceRequestConvertible, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    sendUnauthenticatedRequest(request, options: FetchOptions(), completion: completion)
  }

  /// The same with a completion of two parameters.
  @discardableResult
  public func sendUnauthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions = FetchOptions(),
    completion: @escaping FetchCompletionParts
  ) -> NetworkTask {
    sendUnauthenticatedRequest(request, options: options) { result in NetworkTask.split(result, for: completion) }
  }
}

extension NetworkTask {
  /// Starts the fetch of a double, and returns its task: the one in `options`, where there is one.
  fileprivate static func begin(
    _ request: ResourceRequest, _ options: FetchOptions, _ completion: @escaping FetchCompletion,
    _ send: @escaping @Sendable (ResourceRequest, FetchOptions) async throws(ResourceError) -> ResourceResponse
  ) -> NetworkTask {
    let task = options.task ?? NetworkTask(request: request, clock: SystemClock())
    var options = options
    options.task = task
    _ = options.scope.task { [options] in
      let result: Result<ResourceResponse, ResourceError>
      do throws(ResourceError) {
        result = .success(try await send(request, options))
      } catch {
        result = .failure(error)
      }
      // A cancelled task has ended, whatever the double does.
      completion(task.error.map { .failure($0) } ?? task.completed(result))
    }
    return task
  }

  fileprivate static func split(
    _ result: Result<ResourceResponse, ResourceError>, for completion: FetchCompletionParts
  ) {
    switch result {
    case .success(let response): completion(response, nil)
    case .failure(let error): completion(nil, error)
    }
  }
}
