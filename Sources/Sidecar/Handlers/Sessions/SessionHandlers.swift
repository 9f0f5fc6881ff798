import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// The methods of sessions: params to the engine, and its values to results.
struct SessionHandlers: Sendable {
  /// The longest text of an authorization request: it goes into a URL.
  static let maxTextBytes = 2048

  let engine: Engine
  let lists: ListAnswers

  func create(_ params: CreateSession.Params, _ context: CallContext) async throws(RPCFault) -> SessionDescription {
    let grant = try SessionGrant(params.grant)
    let issuer = try context.runtime.sessionIssuer(params.issuer, engine)
    do throws(SessionError) {
      return SessionDescription(
        try await engine.sessions.create(
          from: grant, at: issuer, origin: context.loginOrigin, in: context.scope))
    } catch {
      throw await engine.fault(error, at: issuer, of: nil, path: "/grant", context)
    }
  }

  func begin(
    _ params: BeginAuthorization.Params, _ context: CallContext
  ) async throws(RPCFault) -> BeginAuthorization.Result {
    let issuer = try context.runtime.sessionIssuer(params.issuer, engine)
    guard let redirectURI = params.redirectUri ?? issuer.redirectURI else {
      throw .invalidParams("redirectUri is needed: the issuer is configured without one", path: "/redirectUri")
    }
    guard (1...2048).contains(redirectURI.utf8.count), redirectURI.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      redirectURI.utf8.contains(UInt8(ascii: ":")), !redirectURI.utf8.contains(UInt8(ascii: "#"))
    else { throw .invalidParams("redirectUri must be an absolute URI without a fragment", path: "/redirectUri") }
    var request = AuthorizationRequest(redirectURI: redirectURI)
    request.scope = params.scope ?? context.runtime.loginScope(of: params.issuer)
    request.prompt = params.prompt
    request.acrValues = try InputLimits.list(params.acrValues, "acrValues") ?? []
    let texts = [
      ("scope", params.scope), ("prompt", params.prompt), ("loginHint", params.loginHint),
      ("resource", params.resource),
    ]
    for (name, text) in texts where text?.utf8.count ?? 0 > Self.maxTextBytes {
      throw .invalidParams("\(name) is longer than \(Self.maxTextBytes) bytes", path: "/\(name)")
    }
    _ = try InputLimits.maxAge(params.maxAge)
    request.maxAge = params.maxAge
    request.loginHint = params.loginHint
    request.resource = params.resource
    do throws(SessionError) {
      let begun = try await engine.sessions.beginAuthorization(
        request, at: issuer, origin: context.loginOrigin, in: context.scope)
      return BeginAuthorization.Result(
        authorizationUrl: begun.url, state: begun.state, cookie: LoginCookie(redirectURI)?.setCookie(begun.state),
        expiresAt: begun.expiresAt.rfc3339, redirectUri: params.redirectUri == nil ? redirectURI : nil)
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  func complete(
    _ params: CompleteAuthorization.Params, _ context: CallContext
  ) async throws(RPCFault) -> SessionDescription {
    guard let browserState = params.state, !browserState.isEmpty else {
      throw .invalidParams(
        "state is required: what the browser brings in its own cookie, which the program set to beginAuthorization's "
          + "`state` (or with its `cookie`). Without that cookie the login began in another browser",
        path: "/state")
    }
    return try await describe { () async throws(SessionError) in
      try await engine.sessions.completeAuthorization(
        callback: params.callbackUrl, state: browserState, replacing: await earlier(params.replaces, context),
        origin: context.loginOrigin,
        issuer: context.runtime.issuerLookup(engine, hidden: .authorizationUnknown), in: context.scope)
    }
  }

  /// The session that a browser had, where the call sees it and might end it: what a cookie has is not an error.
  private func earlier(_ text: String?, _ context: CallContext) async -> SessionHandle? {
    guard let text, let handle = try? SessionHandle(text),
      context.mayEndSessions
    else { return nil }
    guard let found = try? await engine.visibleSession(handle, context).handle else { return nil }
    context.audit?.note(replaced: found)
    return found
  }

  func beginDevice(
    _ params: BeginDeviceAuthorization.Params, _ context: CallContext
  ) async throws(RPCFault) -> BeginDeviceAuthorization.Result {
    let issuer = try context.runtime.sessionIssuer(params.issuer, engine)
    do throws(SessionError) {
      let begun = try await engine.sessions.beginDeviceAuthorization(
        at: issuer, scope: params.scope ?? context.runtime.loginScope(of: params.issuer),
        origin: context.loginOrigin, in: context.scope)
      return BeginDeviceAuthorization.Result(
        handle: begun.handle.text, userCode: begun.userCode, verificationUri: begun.verificationURI,
        verificationUriComplete: begun.verificationURIComplete, expiresAt: begun.expiresAt.rfc3339,
        intervalMs: begun.interval.wholeMilliseconds)
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  func completeDevice(
    _ params: CompleteDeviceAuthorization.Params, _ context: CallContext
  ) async throws(RPCFault) -> SessionDescription {
    do throws(SessionError) {
      // A text that is no handle is as unknown as a handle that is not there.
      guard let handle = try? SessionHandle(params.handle) else { throw .deviceAuthorizationUnknown }
      return SessionDescription(
        try await engine.sessions.completeDeviceAuthorization(
          handle, origin: context.loginOrigin,
          issuer: context.runtime.issuerLookup(engine, hidden: .deviceAuthorizationUnknown), in: context.scope))
    } catch {
      var fault = ErrorMap.fault(error)
      if case .stateUnknown = error.kind { fault.path = "/handle" }
      throw fault
    }
  }

  func get(_ params: GetSession.Params, _ context: CallContext) async throws(RPCFault) -> SessionDescription {
    let handle = try SessionHandle.given(params.session)
    return try await describe { () async throws(SessionError) in
      try await engine.visibleSession(handle, context)
    }
  }

  func list(
    _ params: ListSessions.Params, _ context: CallContext
  ) async throws(RPCFault) -> Written<ListSessions.Result> {
    try await lists.page(params, context) { (start, page) async throws(RPCFault) in
      do throws(SessionError) {
        try await engine.forEachVisibleSession(context, after: start) { session, position in
          page.add(SessionDescription(session), at: position)
        }
      } catch {
        throw ErrorMap.fault(error)
      }
    }
  }

  func refresh(_ params: RefreshSession.Params, _ context: CallContext) async throws(RPCFault) -> SessionDescription {
    let handle = try SessionHandle.given(params.session)
    let current = try await session(handle, context)
    let issuer = try self.issuer(of: current, context)
    do throws(SessionError) {
      return SessionDescription(
        try await engine.sessions.refresh(
          handle, at: issuer, in: context.scope))
    } catch {
      throw await engine.fault(error, at: issuer, of: handle, context)
    }
  }

  func end(_ params: EndSession.Params, _ context: CallContext) async throws(RPCFault) -> EndSession.Result {
    let handle = try SessionHandle.given(params.session)
    do throws(SessionError) {
      // One that cannot be read is ended here all the same.
      let current = try? await engine.sessions.session(handle, in: context.scope)
      guard context.sees(handle), current.map({ context.runtime.scope.contains(issuer: $0.issuer) }) ?? true else {
        throw SessionError.notFound
      }
      let issuer = current.flatMap { try? context.runtime.issuerLookup(engine)($0.issuer) }
      let upstream = try await engine.sessions.end(handle, at: issuer, in: context.scope)
      return EndSession.Result(ended: true, upstream: upstream)
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  func revoke(_ params: RevokeToken.Params, _ context: CallContext) async throws(RPCFault) -> RevokeToken.Result {
    do throws(SessionError) {
      if let text = params.session {
        guard params.issuer == nil, params.token == nil, params.tokenTypeHint == nil else {
          throw SessionError.invalid("session excludes the other members", path: ["session"])
        }
        let handle = try SessionHandle(text)
        let current = try await engine.visibleSession(handle, context)
        try await engine.sessions.revokeTokens(
          of: handle, at: context.runtime.issuerLookup(engine)(current.issuer), in: context.scope)
        return RevokeToken.Result(revoked: true)
      }
      guard let token = params.token else { throw SessionError.invalid("session or token is needed", path: ["token"]) }
      guard let name = params.issuer else { throw SessionError.invalid("token needs issuer", path: ["issuer"]) }
      let issuer = try context.runtime.issuerLookup(engine)(name)
      try await engine.sessions.revoke(
        Secret(token), hint: params.tokenTypeHint, at: issuer, in: context.scope)
      engine.removeAnswers(about: Secret(token), at: issuer.issuer)
      return RevokeToken.Result(revoked: true)
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  private func session(_ handle: SessionHandle, _ context: CallContext) async throws(RPCFault) -> Session {
    do throws(SessionError) {
      return try await engine.visibleSession(handle, context)
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  private func issuer(of session: Session, _ context: CallContext) throws(RPCFault) -> SessionIssuer {
    do throws(SessionError) {
      return try context.runtime.issuerLookup(engine)(session.issuer)
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  private func describe(
    _ body: () async throws(SessionError) -> Session
  ) async throws(RPCFault) -> SessionDescription {
    do throws(SessionError) {
      return SessionDescription(try await body())
    } catch {
      throw ErrorMap.fault(error)
    }
  }
}

extension SessionHandle {
  /// The handle of a call; a text that cannot be a handle is reported as not found.
  static func given(_ text: String) throws(RPCFault) -> SessionHandle {
    guard let handle = try? SessionHandle(text) else { throw RPCFault(.sessionNotFound, path: "/session") }
    return handle
  }
}
