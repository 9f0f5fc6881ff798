public import AuthEngine
import PosternSupport

extension Postern {
  /// Fetches `path` of a configured resource with GET; see `fetch(_:from:session:options:onAdvice:)`.
  public func fetch(
    _ path: String, from resource: String? = nil, session: SessionHandle? = nil
  ) async throws(ResourceError) -> ResourceResponse {
    try await fetch(ResourceRequest(path: path), from: resource, session: session)
  }

  /// Fetches from a configured resource, with the token that its `auth` requires. Any HTTP status is a result.
  ///
  /// - Parameters:
  ///   - request: The request; its path is behind the resource's `baseUrl`.
  ///   - resource: The resource's name in the configuration; nil: the only one.
  ///   - session: The user's session, with `auth: user` and `implicit`; nil: nobody is logged in, which is
  ///     `not_authenticated`, unless the resource has `tokens.whenNoSession: send_without_token`.
  ///   - options: Time limits, another kind of token, a task to watch it by, a body in pieces.
  ///   - onAdvice: Has the user satisfy policy advice that the resource requires, with `authenticate(with:session:)`,
  ///     and returns whether they have; the fetch continues then. Nil: the fetch ends with `advice_required`, and
  ///     `ResourceError.stop` has the advice.
  /// - Throws: why there is no response. A refreshed token is tried once; nothing else is retried.
  public func fetch(
    _ request: some ResourceRequestConvertible, from resource: String? = nil, session: SessionHandle? = nil,
    options: FetchOptions = FetchOptions(), onAdvice: AdviceHandler? = nil
  ) async throws(ResourceError) -> ResourceResponse {
    let server = try server(resource)
    let options = try self.options(options, for: server, session, onAdvice)
    return try await engine.fetcher.fetch(request, from: server, options: options)
  }

  /// Continues a fetch that ended with `advice_required`, when its user has satisfied the advice: the same request,
  /// with the transaction that the user has confirmed, where there is one.
  public func fetch(
    _ request: some ResourceRequestConvertible, from resource: String? = nil, continuing stop: AdviceStop,
    options: FetchOptions = FetchOptions()
  ) async throws(ResourceError) -> ResourceResponse {
    let server = try server(resource)
    var options = try self.options(options, for: server, stop.session, nil)
    guard options.advice != nil else {
      throw ResourceError(.invalidParams, "the resource has no advice rules any more", path: ["resource"])
    }
    options.advice?.progress = stop.progress
    return try await engine.fetcher.fetch(request, from: server, options: options)
  }

  /// A configured resource for `PosternURLProtocol.resources`, whose requests carry the token of that session; nil:
  /// nobody is logged in. It keeps the current configuration.
  public func protectedResource(
    _ resource: String? = nil, session: SessionHandle? = nil, onAdvice: AdviceHandler? = nil
  ) throws(ResourceError) -> ProtectedResource {
    let server = try server(resource)
    return ProtectedResource(
      server, fetcher: engine.fetcher, options: try options(FetchOptions(), for: server, session, onAdvice))
  }

  /// The configured resource server of that name; nil: the only one.
  public func server(_ name: String? = nil) throws(ResourceError) -> ResourceServer { try running.server(name) }

  /// Satisfies policy advice for the session of a fetch, nil where the user is not logged in; returns whether the user
  /// has.
  public typealias AdviceHandler = @Sendable (_ advices: [PolicyAdvice], _ session: SessionHandle?) async -> Bool

  /// A client of a configured resource for its user, with the names of the mobile SDKs. It ends on the configuration
  /// of now.
  ///
  /// `session` and `implicitSession` nil: the only live one of that kind, as on a phone. A program with several users
  /// uses `fetch`, which never chooses a session.
  public func userClient(
    for resource: String? = nil, session: SessionHandle? = nil, implicitSession: SessionHandle? = nil
  ) throws(ResourceError) -> UserClient {
    let server = try server(resource)
    return engine.userClient(
      of: server, at: try running.sessionIssuer(of: server), uid: uid, session: session,
      implicitSession: implicitSession)
  }

  /// A client of a configured resource without users, with the names of the mobile SDKs. It ends on the configuration
  /// of now.
  public func deviceClient(for resource: String? = nil) throws(ResourceError) -> DeviceClient {
    engine.deviceClient(of: try server(resource), uid: uid)
  }

  /// `options` with the session that the request's token comes from.
  private func options(
    _ given: FetchOptions, for server: ResourceServer, _ session: SessionHandle?, _ onAdvice: AdviceHandler?
  ) throws(ResourceError) -> FetchOptions {
    var options = given
    options.scope = options.scope.of(uid)
    switch given.authentication ?? server.authentication {
    case .user, .implicit:
      if let own = options.session {
        guard session == nil || own.handle == session else {
          throw ResourceError(.invalidParams, "options name another session", path: ["session"])
        }
        break
      }
      let issuer = try running.sessionIssuer(of: server)
      options.session = session.map {
        SessionRef(handle: $0, uid: uid, issuer: issuer, sessions: engine.sessions)
      }
    case .clientCredentials, .credential, .onBehalfOf, .none:
      guard session == nil else {
        throw ResourceError(.invalidParams, "a session goes with auth user or implicit", path: ["session"])
      }
    }
    // Cookies are a session's own, as in the sidecar; without a session they are this program's.
    options.cookieScope = options.cookieScope ?? CookieScope(uid: uid, session: options.session?.handle)
    if options.advice == nil, server.advice != nil,
      [.user, .none].contains(given.authentication ?? server.authentication)
    {
      options.advice = FetchAdvice(delegate: onAdvice.map(HandlerDelegate.init), delegateID: onAdvice == nil ? nil : 0)
    }
    return options
  }
}

/// Passes advice to a closure.
private struct HandlerDelegate: AuthorizationPolicyDelegate {
  let handler: Postern.AdviceHandler

  func onPolicyAdviceReceived(
    _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
  ) async -> Bool? {
    await handler(advices, session)
  }
}
