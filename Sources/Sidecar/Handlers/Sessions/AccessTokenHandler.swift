import AuthEngine
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// `getAccessToken`: the one way for a token out of the sidecar, where the configuration opens it.
struct AccessTokenHandler: Sendable {
  static let longestMinimum = 86_400

  let engine: Engine
  let computation: CPUOffload

  /// Begins a call: it ends here with a token that is in memory.
  func begin(
    _ params: GetAccessToken.Params, _ context: CallContext
  ) throws(RPCFault) -> MethodTable.Beginning<GetAccessToken.Result> {
    let (target, minimum) = try checked(params, context)
    if let token = try cachedToken(params, target, minimum, context) {
      return .answered(.value(try result(token, target, context).json))
    }
    return .waits { () async throws(RPCFault) in try await self(params, context) }
  }

  /// A fresh token that is in memory; nil where the call has to go on, if only to find out why there is none.
  private func cachedToken(
    _ params: GetAccessToken.Params, _ target: Target, _ minimum: Int, _ context: CallContext
  ) throws(RPCFault) -> AccessToken? {
    switch target.authentication {
    case .clientCredentials where minimum == 0 && params.session?.isEmpty ?? true:
      return engine.deviceTokens.cachedToken(for: target.grant, in: context.scope)
    case .user, .implicit:
      let kind: SessionKind = target.authentication == .user ? .user : .implicit
      guard case .known(let session?) = try engine.knownSession(params.session, kind, target.issuer, context) else {
        return nil
      }
      let found = try? session.foundInMemory(kind, in: context.scope)
      guard let token = try? found?.cachedToken(target.need(minimum), in: context.scope) else { return nil }
      if let handle = session.handle { context.audit?.note(session: handle) }
      return token
    case .clientCredentials, .onBehalfOf, .credential, .none: return nil
    }
  }

  func callAsFunction(
    _ params: GetAccessToken.Params, _ context: CallContext
  ) async throws(RPCFault) -> GetAccessToken.Result {
    let (target, minimum) = try checked(params, context)
    let token: AccessToken
    switch target.authentication {
    case .none: throw .invalidParams("a resource with auth: none has no token", path: "/auth")
    case .credential: throw Self.ownCredential
    case .clientCredentials:
      try await engine.rejectSession(params.session, context)
      token = try await deviceToken(target, .seconds(minimum), context)
    case .onBehalfOf: token = try await exchangedToken(params, target, context)
    case .user: token = try await sessionToken(params, .user, target, minimum, context)
    case .implicit: token = try await sessionToken(params, .implicit, target, minimum, context)
    }
    return try result(token, target, context)
  }

  private func result(
    _ token: AccessToken, _ target: Target, _ context: CallContext
  ) throws(RPCFault) -> GetAccessToken.Result {
    guard token.type == .bearer else { throw Self.bound }
    if let server = target.narrowed { try rejectWider(token, server, context) }
    return GetAccessToken.Result(
      accessToken: token.value.reveal(), tokenType: token.type.rawValue, expiresAt: token.expiresAt.rfc3339,
      scope: token.scope)
  }

  /// The token of a call as far as it is known without a request.
  func check(_ params: JSONTree?, _ context: CallContext) async throws(RPCFault) -> CheckedToken {
    let params = try MethodTable.decode(GetAccessToken.Params.self, params)
    let (target, _) = try checked(params, context)
    var preview = ResourceFetcher.TokenPreview()
    switch target.authentication {
    case .none: throw .invalidParams("a resource with auth: none has no token", path: "/auth")
    case .credential: throw Self.ownCredential
    case .clientCredentials, .onBehalfOf: try await engine.rejectSession(params.session, context)
    case .user, .implicit:
      let kind: SessionKind = target.authentication == .user ? .user : .implicit
      let session = try await session(params, kind, target, context)
      do throws(SessionError) {
        preview.session = try await handle(of: kind, session, params, context)
        (preview.token, preview.canBeRequested) = try await session.found(kind, in: context.scope).current(
          target.need(0), kind, in: context.scope)
      } catch {
        throw ErrorMap.fault(error)
      }
    }
    if target.authentication == .clientCredentials {
      do throws(TokenError) {
        preview.token = try engine.deviceTokens.current(for: target.grant)
      } catch {
        throw ErrorMap.fault(SessionError(error))
      }
    }
    if target.authentication == .onBehalfOf, let server = target.resource {
      var server = server
      server.authentication = .onBehalfOf
      _ = try InboundTokenCheck.source(of: params.onBehalfOf, server, context)
    }
    if let token = preview.token, token.type != .bearer { throw Self.bound }
    return CheckedToken(authentication: target.authentication, issuer: target.issuer, preview: preview)
  }

  /// The requested token, and how long it has to live.
  private func checked(
    _ params: GetAccessToken.Params, _ context: CallContext
  ) throws(RPCFault) -> (target: Target, minimum: Int) {
    guard context.runtime.letsTokensLeave else {
      throw RPCFault(.peerForbidden, "tokens.leaveTheSidecar is off: tokens stay in the sidecar")
    }
    let minimum = params.minTtlSeconds ?? 0
    guard (0...Self.longestMinimum).contains(minimum) else {
      throw .invalidParams("minTtlSeconds must be from 0 to \(Self.longestMinimum)", path: "/minTtlSeconds")
    }
    let target = try target(params, context)
    try context.check(target.authentication, of: nil)
    // The key of proofs stays in this process: no other process could use the token.
    guard target.senderConstraint != .dpop else { throw Self.bound }
    if target.authentication != .onBehalfOf, params.onBehalfOf != nil {
      throw .invalidParams("An inbound token goes with auth onBehalfOf", path: "/onBehalfOf")
    }
    return (target, minimum)
  }

  private func exchangedToken(
    _ params: GetAccessToken.Params, _ target: Target, _ context: CallContext
  ) async throws(RPCFault) -> AccessToken {
    try await engine.rejectSession(params.session, context)
    guard var server = target.resource else {
      throw .invalidParams("auth onBehalfOf goes with a resource", path: "/resource")
    }
    server.authentication = .onBehalfOf
    let check = InboundTokenCheck(engine: engine, computation: computation)
    guard let inbound = try await check(params.onBehalfOf, server, by: context.deadline, context) else {
      throw .invalidParams("The resource needs the inbound token of a user", path: "/onBehalfOf")
    }
    return try await token(for: inbound, server, context)
  }

  /// The session of that kind that the call names.
  private func session(
    _ params: GetAccessToken.Params, _ kind: SessionKind, _ target: Target, _ context: CallContext
  ) async throws(RPCFault) -> SessionRef {
    guard let session = try await engine.session(params.session, kind, target.issuer, context) else {
      throw RPCFault(kind == .user ? .notAuthenticated : .notImplicitlyAuthenticated)
    }
    return session
  }

  /// The token of a session of that kind.
  private func sessionToken(
    _ params: GetAccessToken.Params, _ kind: SessionKind, _ target: Target, _ minimum: Int, _ context: CallContext
  ) async throws(RPCFault) -> AccessToken {
    let session = try await session(params, kind, target, context)
    var meant: SessionHandle?
    do throws(SessionError) {
      let handle = try await session.handle(of: kind, in: context.scope)
      meant = handle
      context.audit?.note(session: handle)
      _ = try await self.handle(of: kind, session, params, context)
      return try await engine.sessions.token(
        target.need(minimum), of: handle, at: session.issuer, in: context.scope)
    } catch {
      throw await engine.fault(error, at: session.issuer, of: meant, context)
    }
  }

  /// The session that a call means. When it names a kind, a session of the other kind is unknown.
  private func handle(
    of kind: SessionKind, _ session: SessionRef, _ params: GetAccessToken.Params, _ context: CallContext
  ) async throws(SessionError) -> SessionHandle {
    let handle = try await session.handle(of: kind, in: context.scope)
    if params.auth != nil || params.resource != nil,
      try await engine.sessions.session(handle, in: context.scope).kind != kind
    {
      throw SessionError.notFound
    }
    return handle
  }

  private static let bound = RPCFault(
    .peerForbidden, "the token is bound to a key that never leaves the sidecar (DPoP): use fetchResource")

  private static let ownCredential = RPCFault(
    .peerForbidden, "a resource's own credential never leaves the sidecar: use fetchResource")

  /// The issuer and parameters of a requested token.
  private struct Target {
    let issuer: Issuer
    let authentication: ResourceServer.Authentication
    let scope: String?
    let audience: String?
    let senderConstraint: ResourceServer.SenderConstraint
    /// The resource, where the peer gets tokens for certain resources only: never the session's own, which is good for
    /// more.
    let narrowed: ResourceServer?
    /// The resource; nil where the call names an issuer.
    var resource: ResourceServer?

    var grant: ClientCredentialsGrant { ClientCredentialsGrant(issuer: issuer, scope: scope, audience: audience) }

    /// The session's token that has at least `minimum` seconds to live; 0: that is fresh.
    func need(_ minimum: Int) -> TokenNeed {
      TokenNeed(
        scope: scope, audience: audience, isNarrow: narrowed != nil,
        minimumLife: minimum == 0 ? nil : .seconds(minimum))
    }
  }

  private func target(_ params: GetAccessToken.Params, _ context: CallContext) throws(RPCFault) -> Target {
    let wish = params.auth.map(ResourceServer.Authentication.init)
    if let name = params.resource {
      guard params.issuer == nil else { throw .invalidParams("resource excludes issuer", path: "/issuer") }
      let server = try context.runtime.server(name)
      let authentication = wish ?? server.authentication
      guard authentication != .credential else { throw Self.ownCredential }
      guard let issuer = server.issuer, context.runtime.scope.contains(issuer: issuer.name) else {
        throw .invalidParams("the resource is configured without an issuer", path: "/resource")
      }
      let isNarrow = context.runtime.scope.resources != nil
      if isNarrow, !isOwn(server, scope: server.scope, context) { throw Self.wider }
      return Target(
        issuer: issuer, authentication: authentication, scope: server.scope, audience: server.audience,
        senderConstraint: server.senderConstraint, narrowed: isNarrow ? server : nil, resource: server)
    }
    guard let name = params.issuer else { throw .invalidParams("resource or issuer is needed", path: "/resource") }
    guard context.runtime.scope.resources == nil else {
      throw RPCFault(.peerForbidden, "This peer may use named resources only", path: "/issuer")
    }
    let issuer = try context.runtime.sessionIssuer(name, engine)
    // An empty text is a user who is not logged in, never the client.
    let namesSession = params.session != nil || context.narrowing?.session != nil
    return Target(
      issuer: issuer.issuer, authentication: wish ?? (namesSession ? .user : .clientCredentials), scope: nil,
      audience: nil, senderConstraint: .none, narrowed: nil)
  }

  private static let wider = RPCFault(
    .peerForbidden,
    "The token would be valid for more than this peer's resources: its scope and audience are not this resource's alone",
    path: "/resource")

  /// Rejects a token that the issuer has given more scope than requested, if a hidden resource accepts it.
  private func rejectWider(_ token: AccessToken, _ server: ResourceServer, _ context: CallContext) throws(RPCFault) {
    guard isOwn(server, scope: token.scope ?? server.scope, context) else { throw Self.wider }
  }

  /// Whether a token of a resource, with that scope, is valid for nothing that the peer may not use, as far as the
  /// configuration shows: it is narrowed to a scope or an audience, and no hidden resource of the same issuer is
  /// satisfied with them. Of one with neither nothing is known.
  private func isOwn(_ server: ResourceServer, scope: String?, _ context: CallContext) -> Bool {
    guard scope != nil || server.audience != nil else { return false }
    func words(_ scope: String?) -> Set<Substring> { Set((scope ?? "").split(atByte: " ")) }
    return !context.runtime.hiddenServers.contains { hidden in
      hidden.issuer?.identifier == server.issuer?.identifier
        && hidden.audience == server.audience
        && (hidden.scope != nil || hidden.audience != nil)
        && words(hidden.scope).isSubset(of: words(scope))
    }
  }

  private func deviceToken(
    _ target: Target, _ minimum: Duration, _ context: CallContext
  ) async throws(RPCFault) -> AccessToken {
    do throws(TokenError) {
      return try await engine.deviceTokens.token(
        for: target.grant, livingFor: minimum, in: context.scope)
    } catch {
      throw ErrorMap.fault(SessionError(error))
    }
  }
}
