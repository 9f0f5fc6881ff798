public import ResourceAccess
public import Sessions

/// Requests to one resource server in the name of a user, over the sessions of one owner.
///
/// Each request has an async form and one with a completion, over the same `ResourceFetcher`. In `options` what the
/// client decides (`authentication`, `session`) is overwritten.
public struct UserClient: Sendable {
  /// What is called with the outcome, exactly once; see `ResourceFetcher.fetch(_:from:options:completion:)`.
  public typealias Completion = DeviceClient.Completion

  private let fetcher: ResourceFetcher
  private let server: ResourceServer
  private let session: FetchSession
  private let implicitSession: FetchSession

  /// A client of `server` for the sessions that `owner` has at `issuer`.
  ///
  /// `session` and `implicitSession` are which to use; nil: the owner's only one of that kind, whichever it is at the
  /// time of the request.
  public init(
    fetcher: ResourceFetcher, server: ResourceServer, sessions: UserSessions, issuer: SessionIssuer, owner: UInt32,
    session: SessionHandle? = nil, implicitSession: SessionHandle? = nil
  ) {
    self.fetcher = fetcher
    self.server = server
    self.session = FetchSession(handle: session, owner: owner, issuer: issuer, sessions: sessions)
    self.implicitSession = FetchSession(handle: implicitSession, owner: owner, issuer: issuer, sessions: sessions)
  }

  /// Fetches with the token of a user who has logged in; `not_authenticated` when nobody has, or has to again.
  public func sendAuthenticatedRequest(
    _ request: ResourceRequest, options: FetchOptions = FetchOptions()
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetcher.fetch(request, from: server, options: options.authenticated(.user, session))
  }

  /// As the async form, with a task to watch, hold and cancel it by.
  @discardableResult
  public func sendAuthenticatedRequest(
    _ request: ResourceRequest, options: FetchOptions = FetchOptions(), completion: @escaping Completion
  ) -> NetworkTask {
    fetcher.fetch(request, from: server, options: options.authenticated(.user, session), completion: completion)
  }

  /// Fetches with the token of a user recognised without interaction; `not_implicitly_authenticated` when there is
  /// none.
  public func sendImplicitRequest(
    _ request: ResourceRequest, options: FetchOptions = FetchOptions()
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetcher.fetch(request, from: server, options: options.authenticated(.implicit, implicitSession))
  }

  /// As the async form, with a task to watch, hold and cancel it by.
  @discardableResult
  public func sendImplicitRequest(
    _ request: ResourceRequest, options: FetchOptions = FetchOptions(), completion: @escaping Completion
  ) -> NetworkTask {
    fetcher.fetch(
      request, from: server, options: options.authenticated(.implicit, implicitSession), completion: completion)
  }
}
