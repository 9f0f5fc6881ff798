public import PosternSupport
public import ResourceAccess
public import Sessions

/// Sends requests to one resource server in the name of a user, over the sessions of one uid.
///
/// Each request has an async form and two with a completion (`UserRequestSending`), over the same `ResourceFetcher`. The
/// client overwrites `authentication` and `session` in `options`.
public struct UserClient: UserRequestSending {
  private let fetcher: ResourceFetcher
  private let server: ResourceServer
  private let session: SessionRef
  private let implicitSession: SessionRef

  /// A client of `server` for the sessions that `uid` has at `issuer`; a program with one user need not name a uid.
  ///
  /// `session` and `implicitSession` are the sessions to use; nil: the uid's only live one of that kind at the time of
  /// the request, as on a phone. A program with several users names both, or uses `ResourceFetcher`, which never
  /// chooses a session.
  public init(
    fetcher: ResourceFetcher, server: ResourceServer, sessions: UserSessions, issuer: SessionIssuer,
    uid: UInt32 = PeerID.ownUID,
    session: SessionHandle? = nil, implicitSession: SessionHandle? = nil
  ) {
    self.fetcher = fetcher
    self.server = server
    func access(_ handle: SessionHandle?) -> SessionRef {
      handle.map { SessionRef(handle: $0, uid: uid, issuer: issuer, sessions: sessions) }
        ?? .only(of: uid, at: issuer, sessions: sessions)
    }
    self.session = access(session)
    self.implicitSession = access(implicitSession)
  }

  /// Fetches with the token of a user who has logged in; `not_authenticated` when there is none, or a new login is
  /// needed.
  public func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetcher.fetch(request, from: server, options: options.authenticated(.user, session))
  }

  /// Fetches as the async form does, with a task to watch, pause and cancel it by.
  @discardableResult
  public func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    fetcher.fetch(request, from: server, options: options.authenticated(.user, session), completion: completion)
  }

  /// Fetches with the token of a user recognised without interaction; `not_implicitly_authenticated` when there is
  /// none.
  public func sendImplicitRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetcher.fetch(request, from: server, options: options.authenticated(.implicit, implicitSession))
  }

  /// Fetches as the async form does, with a task to watch, pause and cancel it by.
  @discardableResult
  public func sendImplicitRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    fetcher.fetch(
      request, from: server, options: options.authenticated(.implicit, implicitSession), completion: completion)
  }
}

/// Sends requests to one resource server without a user: with the application's own token, or without one.
///
/// Each request has an async form and two with a completion (`DeviceRequestSending`), over the same `ResourceFetcher`. The
/// client overwrites `authentication` and `session` in `options`.
public struct DeviceClient: DeviceRequestSending {
  private let fetcher: ResourceFetcher
  private let server: ResourceServer
  private let uid: UInt32

  /// A client of `server`, whose `issuer` and `scope` decide about the application's token. Cookies are those of `uid`.
  public init(fetcher: ResourceFetcher, server: ResourceServer, uid: UInt32 = PeerID.ownUID) {
    self.fetcher = fetcher
    self.server = server
    self.uid = uid
  }

  /// `options` with that token, and the cookies of no session.
  private func own(_ options: FetchOptions, _ authentication: ResourceServer.Authentication) -> FetchOptions {
    var options = options.authenticated(authentication)
    options.cookieScope = options.cookieScope ?? CookieScope(uid: uid)
    return options
  }

  /// Fetches with the application's own token (client credentials); `device_not_authenticated` when there is none.
  public func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetcher.fetch(request, from: server, options: own(options, .clientCredentials))
  }

  /// Fetches as the async form does, with a task to watch, pause and cancel it by.
  @discardableResult
  public func sendAuthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    fetcher.fetch(request, from: server, options: own(options, .clientCredentials), completion: completion)
  }

  /// Fetches without a token. Pins, origins and every other rule apply all the same.
  public func sendUnauthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetcher.fetch(request, from: server, options: own(options, .none))
  }

  /// Fetches as the async form does, with a task to watch, pause and cancel it by.
  @discardableResult
  public func sendUnauthenticatedRequest(
    _ request: some ResourceRequestConvertible, options: FetchOptions, completion: @escaping FetchCompletion
  ) -> NetworkTask {
    fetcher.fetch(request, from: server, options: own(options, .none), completion: completion)
  }
}

extension UserClient: ConciseStringConvertible {
  /// The resource, and whose sessions.
  public var description: String { Concise.text("user client of \(server)", "\(session)") }
}

extension DeviceClient: ConciseStringConvertible {
  /// The resource.
  public var description: String { Concise.text("device client of \(server)") }
}
