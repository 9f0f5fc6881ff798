import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// The session that a call names. None is ever chosen for it: a call without one is a call of nobody.
enum NamedSession: Sendable {
  /// The session with that handle.
  case handle(SessionHandle)
  /// The only live one of the peer's at the issuer: for programs whose uid is the user.
  case only

  /// What `text` names, else what the caller's endpoint is bound to; nil for neither. An empty text is nobody, also at
  /// such an endpoint. Where a person was asked about the only session, it is the one that they were shown.
  init?(_ text: String?, _ context: CallContext) throws(RPCFault) {
    guard let given = text ?? context.narrowing?.session, !given.isEmpty else { return nil }
    guard given == SessionParam.only else {
      self = .handle(try SessionHandle.given(given))
      return
    }
    switch context.approved {
    case nil: self = .only
    case .session(let handle)?: self = .handle(try SessionHandle.given(handle))
    case .nobody?: return nil
    }
  }
}

/// The session of a call.
enum SessionChoice: Sendable {
  /// Found without the store; nil: the call has none.
  case known(SessionRef?)
  /// The store has to be asked.
  case inStore
}

extension Engine {
  /// The session that a call names with `text`, as far as the store is not needed for it.
  func knownSession(
    _ text: String?, _ kind: SessionKind, _ issuer: Issuer?, mayBeMissing: Bool = false, _ context: CallContext
  ) throws(RPCFault) -> SessionChoice {
    guard let named = try NamedSession(text, context) else {
      guard mayBeMissing else { throw Self.sessionMissing }
      return .known(nil)
    }
    guard let issuer else { return .known(nil) }
    guard case .handle(let handle) = named, context.runtime.scope.issuers == nil, !context.selectsSessions else {
      return .inStore
    }
    return .known(
      SessionRef(
        handle: handle, uid: context.uid, issuer: try context.runtime.sessionIssuer(issuer.name, self),
        sessions: sessions))
  }

  /// The session that a call names with `text`, for a token of that kind at `issuer`; nil when nobody is logged in and
  /// `mayBeMissing`.
  func session(
    _ text: String?, _ kind: SessionKind, _ issuer: Issuer?, mayBeMissing: Bool = false, _ context: CallContext
  ) async throws(RPCFault) -> SessionRef? {
    if case .known(let session) = try knownSession(text, kind, issuer, mayBeMissing: mayBeMissing, context) {
      return session
    }
    guard let issuer, let named = try NamedSession(text, context) else { return nil }
    let scope = context.runtime.scope
    if case .handle(let given) = named {
      do throws(SessionError) {
        _ = try await visibleSession(given, context)
      } catch {
        throw ErrorMap.fault(error)
      }
    }
    // The resource may be used; sessions at its issuer are hidden from this peer.
    guard scope.contains(issuer: issuer.name) else {
      if case .handle = named { throw ErrorMap.fault(SessionError.notFound) }
      guard mayBeMissing else { throw Self.noOnlySession(kind) }
      return nil
    }
    let sessionIssuer = try context.runtime.sessionIssuer(issuer.name, self)
    let handle: SessionHandle
    switch named {
    case .handle(let given): handle = given
    case .only:
      let found: SessionHandle?
      do throws(SessionError) {
        found = try await onlySession(of: kind, at: issuer.name, context)
      } catch {
        throw ErrorMap.fault(error)
      }
      guard let found else {
        guard mayBeMissing else { throw Self.noOnlySession(kind, at: issuer.name) }
        return nil
      }
      handle = found
    }
    return SessionRef(handle: handle, uid: context.uid, issuer: sessionIssuer, sessions: sessions)
  }

  /// The call names no session.
  static let sessionMissing = RPCFault(
    .notAuthenticated,
    "No session is named, so nobody is logged in: pass `session`, the handle that the login returned, or \"only\" "
      + "where this uid is the user",
    outcome: .notSent, isRetryable: false, word: "session_missing")

  /// The call asks for the only live session, of which there is none.
  static func noOnlySession(_ kind: SessionKind, at issuer: String? = nil) -> RPCFault {
    let place = issuer.map { " at issuer \($0)" } ?? ""
    return RPCFault(
      .notAuthenticated, "This uid has no live \(kind.rawValue) session\(place): log the user in first",
      outcome: .notSent, isRetryable: false, word: "session_missing")
  }

  /// The handle of the session that an endpoint is bound to; `only` is the creator's only live user session now, at the
  /// issuer of the endpoint's resources if they have one issuer.
  func sessionOfEndpoint(
    _ params: CreateEndpoint.Params, _ context: CallContext
  ) async throws(RPCFault) -> String? {
    guard let text = params.session else { return nil }
    // An endpoint without a session would be what the maker asked not to have.
    guard let named = try NamedSession(text, context) else { throw Self.sessionMissing }
    let servers = (params.limits.resources ?? []).compactMap { try? context.runtime.server($0) }
    let issuers = Set(servers.filter { $0.authentication == .user }.compactMap { $0.issuer?.name })
    let issuer = issuers.count == 1 ? issuers.first : nil
    do throws(SessionError) {
      switch named {
      case .handle(let handle): return try await visibleSession(handle, context).handle.text
      case .only:
        if let only = try await onlyVisibleSession(.user, at: issuer, context) { return only.handle.text }
      }
    } catch {
      throw ErrorMap.fault(error)
    }
    throw Self.noOnlySession(.user, at: issuer)
  }

  /// Rejects a session where none is used: with client credentials, or without a token. An unknown session is reported
  /// as unknown there, too.
  func rejectSession(_ text: String?, _ context: CallContext) async throws(RPCFault) {
    guard let text, !text.isEmpty else { return }
    guard text != SessionParam.only else {
      throw .invalidParams("A session goes with auth user or implicit", path: "/session")
    }
    let handle = try SessionHandle.given(text)
    do throws(SessionError) {
      _ = try await visibleSession(handle, context)
    } catch {
      throw ErrorMap.fault(error)
    }
    throw .invalidParams("A session goes with auth user or implicit", path: "/session")
  }
}

extension Engine {
  /// The error of a call. If the access manager requires the user to do something first, it contains a continuation:
  /// for `session`, or for the session that was to be created. What the issuer requires of the user of `session`, a login
  /// does.
  func fault(
    _ error: SessionError, at issuer: SessionIssuer, of session: SessionHandle?, path: String = "",
    _ context: CallContext
  ) async -> RPCFault {
    var fault = ErrorMap.fault(error, path: path)
    if session != nil, case .tokenEndpoint(let failure) = error.kind,
      let interaction = failure.oauthError?.interaction
    {
      fault = fault.with(code: .notAuthenticated)
      fault.details["claims"] = interaction.claims.map { .string($0) }
      return fault
    }
    guard case .adviceRequired(let pending) = error.kind,
      var request = Self.request(pending, session)
    else { return fault }
    request.origin = context.loginOrigin
    guard let step = try? await journeys.hold(request, at: issuer, in: context.scope)
    else { return fault }
    fault.continuation = RPCFault.Continuation(step.continuation, expiresAt: step.expiresAt)
    return fault
  }

  private static func request(_ pending: SuspendedAuthorization, _ session: SessionHandle?) -> JourneyRequest? {
    guard let session else { return .signOn(pending) }
    return .stepUp(session, advices: pending.advices)
  }
}

extension CallContext {
  /// Throws unless the request is within the chain that the call came through: what a resource that is not configured is
  /// answered with, or the fault of a field that cannot be judged.
  func check(
    _ request: ResourceRequest, to server: ResourceServer, _ fetch: FetchOptions
  ) throws(RPCFault) {
    let isWithin: Bool
    do throws(ResourceError) {
      isWithin = try allows(request, to: server, fetch)
    } catch {
      throw ErrorMap.fault(error)
    }
    guard isWithin else { throw runtime.noSuchResource(server.name) }
  }

  /// Whether the caller can continue a suspended fetch: it was begun through the same endpoint, and nothing of it is
  /// hidden.
  func shows(_ fetch: SuspendedFetches.Fetch) -> Bool { covers(fetch.origin.path) && runtime.shows(fetch) }
}

extension VisibleConfiguration {
  /// The issuer of that configured name, for sessions.
  func sessionIssuer(_ name: String, _ engine: Engine) throws(RPCFault) -> SessionIssuer {
    do throws(SessionError) {
      return try issuerLookup(engine)(name)
    } catch {
      throw ErrorMap.fault(error, path: "/issuer")
    }
  }

  /// Whether the caller can continue the suspended fetch: neither its resource nor its session's issuer is
  /// hidden.
  func shows(_ fetch: SuspendedFetches.Fetch) -> Bool {
    guard scope.contains(resource: fetch.origin.resource) else { return false }
    guard scope.issuers != nil else { return true }
    let issuer = fetch.origin.options.session?.issuer.issuer.name
    return issuer.map(scope.contains(issuer:)) ?? true
  }
}
