package import AuthEngine
import HTTPMessages
import PosternCrypto
import PosternJSON
package import PosternJSONRPC
package import PosternProtocol
package import PosternSupport

// What the chain of endpoints that a call came through leaves of what its maker may do. Without a chain everything here
// is allowed, and the peer's rule alone decides.
extension CallContext {
  /// A level under the call's own; throws for what is more than its maker has, resources that are not configured among
  /// it.
  package func level(
    _ limits: EndpointLimits, id: String, label: String? = nil, session: String? = nil, under parent: Narrowing?,
    expiry: MonotonicInstant? = nil, at now: MonotonicInstant
  ) throws(RPCFault) -> Narrowing {
    guard let rule = runtime.rule(of: caller.peer) else { throw RPCFault(.peerForbidden) }
    let level = try Narrowing.make(
      limits, id: id, label: label, session: session, under: parent, rule: rule, expiry: expiry, at: now)
    for (index, name) in (limits.resources ?? []).enumerated() {
      do throws(RPCFault) {
        try runtime.check(resource: name)
      } catch {
        // The maker has no more of it than of one that its rule hides.
        throw RPCFault(.peerForbidden, error.message, path: "/resources/\(index)")
      }
    }
    return level
  }

  /// Carries out `narrow`; `count` throws when there is no room for its lists.
  package func narrow(
    to limits: EndpointLimits, at now: MonotonicInstant, count: () throws(RPCFault) -> Void
  ) throws(RPCFault) {
    let id = Base64URL.string(SecureRandom.bytes(16))
    var added = try level(limits, id: id, under: caller.narrowing, at: now)
    try count()
    // Again where another call of the connection has added a level meanwhile.
    while !caller.narrow(to: added) { added = try level(limits, id: id, under: caller.narrowing, at: now) }
  }

  // MARK: - Sessions

  /// Whether the call may use that session.
  package func sees(_ session: SessionHandle) -> Bool { narrowing?.effective.allows(session: session.text) ?? true }

  /// Whether it may use some of its user's sessions only.
  var selectsSessions: Bool { narrowing?.effective.sessions != nil }

  /// Throws where the chain is for certain sessions, and the call would act as the client, or for somebody else, in
  /// their place: with an `auth` that is not the one of the resource, `own`.
  package func check(
    _ authentication: ResourceServer.Authentication, of own: ResourceServer.Authentication?
  ) throws(RPCFault) {
    guard selectsSessions, authentication != own, ![.user, .implicit, .none].contains(authentication) else { return }
    throw RPCFault(
      .peerForbidden, "This endpoint is for certain sessions: auth \(authentication.rawValue) uses none of them",
      path: "/auth", outcome: .notSent, isRetryable: false)
  }

  // MARK: - What goes on over several calls

  /// The endpoints, and `narrow`s, that the call came through, the outermost first. What it begins is kept with them.
  package var levels: [String] { narrowing?.chain.map(\.id) ?? [] }

  /// The part of the caller's program that a login comes from.
  var loginOrigin: LoginOrigin {
    var origin = LoginOrigin()
    origin.path = levels
    origin.mayEndOthers = mayEndSessions
    return origin
  }

  /// Whether the call may continue what was begun through those levels: its own is one of them.
  package func covers(_ levels: [String]) -> Bool { narrowing.map { levels.contains($0.id) } ?? true }

  /// Whether the call may end sessions.
  var mayEndSessions: Bool { chain.allows(EndSession.name, through: narrowing) }

  /// Whether the call may see what was begun through `other`.
  package func sees(begunThrough other: Narrowing?) -> Bool { narrowing?.covers(other) ?? true }

  // MARK: - Fetches

  /// Whether it may fetch by some HTTP methods, or from some paths, only, or what its maker has approved. Redirects are
  /// not followed then, they are results.
  var boundsFetches: Bool {
    needsApproval || narrowing.map { !$0.effective.lists.isDisjoint(with: [.httpMethods, .paths]) } ?? false
  }

  /// Whether the request, as it is sent by a fetch in that context, is within the chain: its method, its URL, and the
  /// resources that its fields name. Throws for a field that cannot be judged.
  package func allows(
    _ request: ResourceRequest, to server: ResourceServer, _ fetch: FetchOptions
  ) throws(ResourceError) -> Bool {
    guard boundsFetches, let lists = narrowing?.effective else { return true }
    // What is forwarded is sent as it came; a name in small letters is not one of the list.
    let method = fetch.isForwarded ? request.method : request.method.uppercasedASCII()
    guard lists.allows(httpMethod: method) else { return false }
    guard lists.paths != nil else { return true }
    return try Self.allows(lists, request, server, fetch)
  }

  private static func allows(
    _ lists: Restriction, _ request: ResourceRequest, _ server: ResourceServer, _ fetch: FetchOptions
  ) throws(ResourceError) -> Bool {
    guard let url = try? server.url(forPath: request.path), lists.allows(path: path(of: url, on: server)) else {
      return false
    }
    return try SecondURLs(server, fetch).reading(request.headers, of: url).urls.allSatisfy { second in
      var path = path(of: second.url, on: server)
      // All is meant that begins so: the folder has to be in the lists.
      if second.isPrefix {
        path = path.flatMap { path in path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } }
      }
      return lists.allows(path: path)
    }
  }

  /// The path below the server's base URL; nil: it lies elsewhere.
  private static func path(of url: HTTPURL, on server: ResourceServer) -> String? {
    let base = server.baseURL
    guard url.lies(under: base) else { return nil }
    let path = url.path.utf8.dropFirst(base.path.utf8.count)
    let hasSlash = base.path.utf8.last != UInt8(ascii: "/") && path.first == UInt8(ascii: "/")
    return String(hasSlash ? path.dropFirst() : path)
  }
}

extension Engine {
  /// The session of that handle. A session of an issuer that the call's rule hides is reported as not found.
  func visibleSession(_ handle: SessionHandle, _ context: CallContext) async throws(SessionError) -> Session {
    guard context.sees(handle) else { throw .notFound }
    let session = try await sessions.session(handle, in: context.scope)
    guard context.runtime.scope.contains(issuer: session.issuer) else { throw .notFound }
    return session
  }

  /// Hands the call's sessions to `body`, without those of issuers that its rule hides, until it returns false.
  func forEachVisibleSession(
    _ context: CallContext, after start: Int64 = 0, _ body: (Session, Int64) -> Bool
  ) async throws(SessionError) {
    try await sessions.forEachSession(after: start, in: context.scope) { session, position in
      context.runtime.scope.contains(issuer: session.issuer) && context.sees(session.handle)
        ? body(session, position) : true
    }
  }

  /// The only live session of that kind, at `issuer` where that is given, that the call sees; nil when there is none.
  func onlyVisibleSession(
    _ kind: SessionKind, at issuer: String? = nil, _ context: CallContext
  ) async throws(SessionError) -> Session? {
    let now = clock.wallNow
    var fitting: [Session] = []
    try await forEachVisibleSession(context) { session, _ in
      let fits = session.kind == kind && !session.isReplaced && issuer.map { $0 == session.issuer } ?? true
      if fits, session.expiresAt.map({ $0 > now }) ?? true { fitting.append(session) }
      return fitting.count < SessionError.countedSessions
    }
    guard fitting.count <= 1 else { throw SessionError.severalSessions(fitting.count, at: issuer) }
    return fitting.first
  }

  /// The handle of the only session of that kind at `issuer` that the call sees; nil when there is none.
  package func onlySession(
    of kind: SessionKind, at issuer: String, _ context: CallContext
  ) async throws(SessionError) -> SessionHandle? {
    context.selectsSessions
      ? try await onlyVisibleSession(kind, at: issuer, context)?.handle
      : try await sessions.onlySession(of: kind, at: issuer, in: context.scope)
  }
}
