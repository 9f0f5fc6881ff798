import HTTPMessages
public import OAuthClient
public import PosternSupport
package import SessionRecords
import TokenValidation

/// Sessions: callers have a handle, the engine has the tokens, in a store that outlives the process.
///
/// This type makes the parts and passes calls on to them.
public final class UserSessions: Sendable, ConciseStringConvertible {
  /// The outcome of ending a session at its issuer.
  public typealias UpstreamEnd = OAuthClient.UpstreamEnd

  /// How many bytes of records one uid may have before nothing is added, where nothing else is configured.
  public static let defaultMaxBytesPerUid = 64 << 20

  /// How often `keepFresh` looks for what is due; less often while nothing is scheduled. Shorter than the shortest time
  /// until something is due.
  public static let backgroundPause = (busy: Duration.seconds(1), idle: Duration.seconds(5))

  let shared: SessionDependencies
  let uses: RunningUses<RecordKey>
  let refresher: TokenRefresher
  private let logins: SessionLogins
  private let ending: SessionEnding
  /// Replaces logins by stronger or more recent ones.
  package let stepUp: SessionStepUp

  /// Sessions in `store`, which other processes use, too, when `isShared`. A uid whose records have `maxBytesPerUid`
  /// gets no further ones. Tokens of `deviceTokens` are never revoked, since all uids share them.
  package init(
    _ services: Services, store: any RecordStore, isShared: Bool = false,
    maxBytesPerUid: Int = UserSessions.defaultMaxBytesPerUid, discovery: ProviderDiscovery,
    deviceTokens: ClientCredentialsTokens? = nil, sessionObserver: (any SessionObserver)? = nil
  ) {
    let clock = services.clock
    let writer = RecordWriter(store: store, maxBytesPerUid: maxBytesPerUid, clock: clock)
    let provider = ProviderClient(services, discovery: discovery)
    let requests = TokenRequests(provider: provider)
    let tasks = UserTasks(store: store, clock: clock, observer: sessionObserver)
    uses = RunningUses()
    shared = SessionDependencies(
      repository: SessionRepository(writer: writer, isShared: isShared, clock: clock, observer: sessionObserver),
      requests: requests, accessManagers: AccessManagerClient(provider: provider),
      // An ID token is validated once: nothing to cache.
      idTokens: IDTokenVerification(validator: IDTokenValidator(clock: clock, cache: nil)),
      revocation: TokenRevocation(
        requests: requests, sharedTokens: deviceTokens, tasks: tasks, uses: uses, observer: sessionObserver),
      tasks: tasks, clock: clock, observer: sessionObserver)
    logins = SessionLogins(shared, writer)
    refresher = TokenRefresher(
      shared, grants: RefreshGrants(shared: shared, implicit: logins.implicit, singleSignOn: logins.singleSignOn),
      profiles: logins.creation.profiles)
    ending = SessionEnding(shared: shared, singleSignOn: logins.singleSignOn, suspended: refresher.suspended)
    stepUp = SessionStepUp(
      shared: shared, codeLogin: logins.code, singleSignOn: logins.singleSignOn, refresher: refresher)
  }

  package var clock: any EngineClock { shared.clock }
  package var tasks: UserTasks { shared.tasks }
  package var revocation: TokenRevocation { shared.revocation }
  package var accessManagers: AccessManagerClient { shared.accessManagers }
  package var singleSignOn: SingleSignOn { logins.singleSignOn }
  package var repository: SessionRepository { shared.repository }
  /// The store of the records.
  package var store: any RecordStore { repository.store }
  var selection: SessionSelection { SessionSelection(repository: shared.repository, clock: shared.clock) }

  // MARK: Finding

  /// The session, if the caller has one of that handle.
  public func session(_ handle: SessionHandle, in call: CallScope = CallScope()) async throws(SessionError)
    -> Session
  {
    try await repository.live(handle, in: call).session
  }

  package func live(_ handle: SessionHandle, in call: CallScope) async throws(SessionError) -> LiveSession {
    try await repository.live(handle, in: call)
  }

  /// Calls `body` with the caller's sessions behind `position` (0: from the first) and the position of each, the
  /// oldest first, until it returns false.
  ///
  /// A session keeps its position: a list that continues behind the last one has none twice, and leaves none out that
  /// was there all the time.
  public func forEachSession(
    after position: Int64 = 0, in call: CallScope = CallScope(), _ body: (Session, Int64) -> Bool
  ) async throws(SessionError) {
    try await repository.forEachSession(after: position, in: call, body)
  }

  /// The only live session of that kind that the caller has at `issuer`; nil when there is none, an error when there are
  /// several.
  public func onlySession(
    of kind: SessionKind, at issuer: String, in call: CallScope = CallScope()
  ) async throws(SessionError) -> SessionHandle? {
    try await selection.only(kind, at: issuer, in: call)
  }

  // MARK: Login

  /// Creates a session from `grant`, owned by the caller.
  ///
  /// Once a token has been requested the session is created and stored, although its caller may leave: what the issuer
  /// returned may not be returned again. `forEachSession` has it then.
  public func create(
    from grant: SessionGrant, at issuer: SessionIssuer, scope: String? = nil,
    origin: LoginOrigin = LoginOrigin(), in call: CallScope = CallScope()
  ) async throws(SessionError) -> Session {
    try await tasks.finish(.login, at: issuer.issuer.name, in: call) {
      [logins] call async throws(SessionError) in
      try await logins.create(from: grant, at: issuer, scope: scope, origin, in: call)
    }
  }

  /// Begins a login by authorization code (RFC 6749 section 4.1) with PKCE, `state` and `nonce`; the request is pushed
  /// where the issuer supports that (RFC 9126).
  public func beginAuthorization(
    _ request: AuthorizationRequest, at issuer: SessionIssuer,
    origin: LoginOrigin = LoginOrigin(), in call: CallScope = CallScope()
  ) async throws(SessionError) -> BegunAuthorization {
    try await logins.code.begin(
      request, at: issuer, origin, dpopKey: try issuer.newKey(), in: call)
  }

  /// Completes a login with the URL to which the issuer sent the user back: `state`, `iss` (RFC 9207), the code, and
  /// the ID token with its nonce are validated. A state can be used once; a try that did not get an answer from the
  /// token endpoint does not count.
  ///
  /// `state` is what the browser that sent the callback has kept since it began the login; a callback with another one
  /// is `authorizationFailed` with the fault `state_mismatch`, and uses nothing up (RFC 6749 section 10.12). `issuer`
  /// returns the configured issuer of a name. `earlier` is the session that the browser had before: it is replaced, and
  /// ends where that does no harm to the new one, at its issuer, too.
  public func completeAuthorization(
    callback url: String, state: String, replacing earlier: SessionHandle? = nil,
    origin: LoginOrigin = LoginOrigin(),
    issuer: @escaping @Sendable (String) throws(SessionError) -> SessionIssuer, in call: CallScope = CallScope()
  ) async throws(SessionError) -> Session {
    let name = try await logins.code.issuerName(of: url, in: call)
    return try await tasks.finish(.login, at: name, in: call) {
      [logins, ending] call async throws(SessionError) in
      let new = try await logins.code.complete(url, state: state, origin, issuer: issuer, in: call)
      if let earlier { await ending.replace(earlier, by: new, issuer: issuer, in: call) }
      return new
    }
  }

  /// Begins a device authorization (RFC 8628 section 3.1): the user decides on another device.
  public func beginDeviceAuthorization(
    at issuer: SessionIssuer, scope: String?,
    origin: LoginOrigin = LoginOrigin(), in call: CallScope = CallScope()
  ) async throws(SessionError) -> BegunDeviceAuthorization {
    try await logins.device.begin(at: issuer, scope: scope, origin, in: call)
  }

  /// The session, when the user has agreed. `pending` while there is no decision, and before the interval is over,
  /// without a request to the issuer; `authorizationFailed` when the user has denied it or it has expired.
  public func completeDeviceAuthorization(
    _ handle: SessionHandle, origin: LoginOrigin = LoginOrigin(),
    issuer: @escaping @Sendable (String) throws(SessionError) -> SessionIssuer, in call: CallScope = CallScope()
  ) async throws(SessionError) -> Session {
    let name = try await logins.device.issuerName(of: handle, in: call)
    return try await tasks.finish(.login, at: name, in: call) {
      [logins] call async throws(SessionError) in
      try await logins.device.complete(handle, origin, issuer: issuer, in: call)
    }
  }

  /// The name of the access manager's single sign-on cookie, as far as it is known without a request.
  public func cookieName(of manager: AccessManager) -> String? {
    manager.cookieName ?? accessManagers.knownCookieName(of: manager)
  }

  // MARK: Tokens

  /// An access token of the session that meets `need`: fresh, or refreshed now. While the issuer is out of reach, or
  /// takes its time, a token that has not expired yet is returned.
  public func token(
    _ need: TokenNeed = TokenNeed(), of handle: SessionHandle, at issuer: SessionIssuer,
    in call: CallScope = CallScope()
  ) async throws(SessionError) -> AccessToken {
    try await refresher.token(need, of: handle, at: issuer, in: call)
  }

  /// Refreshes the session's token now, whatever is left of its life.
  public func refresh(
    _ handle: SessionHandle, at issuer: SessionIssuer, in call: CallScope = CallScope()
  ) async throws(SessionError) -> Session {
    let current = try await repository.live(handle, in: call)
    _ = try await token(
      TokenNeed(rejected: current.tokens[.session]), of: handle, at: issuer, in: call)
    return try await session(handle, in: call)
  }

  /// Refreshes tokens before they expire and announces the ends of sessions, until the calling task is cancelled.
  /// `issuer` returns the issuer of a name as it is configured now.
  public func keepFresh(issuer: @escaping @Sendable (String) -> SessionIssuer?) async {
    await refresher.keepFresh(issuer: issuer)
  }

  /// Writes what is in memory only: before the store is left to another process, which would use tokens that have been
  /// replaced, and when the store takes writes again.
  public func writeUnsaved() async { await repository.writeUnsaved() }

  // MARK: The end

  /// Ends the session: here at once, whatever the network does, then at the issuer (RFC 7009, RP-Initiated Logout).
  ///
  /// `issuer` nil: it is not configured any more.
  public func end(
    _ handle: SessionHandle, at issuer: SessionIssuer?, in call: CallScope = CallScope()
  ) async throws(SessionError) -> UpstreamEnd {
    try await ending.end(handle, at: issuer, in: call)
  }

  /// Ends a session that its issuer has ended already: here only. Returns the tokens that may be valid still; nil when
  /// the session is over.
  package func endHere(
    _ handle: SessionHandle, ownedBy uid: UInt32, in call: CallScope
  ) async throws(SessionError) -> [RetiredToken]? {
    try await ending.endHere(handle, ownedBy: uid, in: call)
  }

  /// Revokes a token at its issuer (RFC 7009); `sharedToken` for one that all uids share.
  public func revoke(
    _ token: Secret<String>, hint: String?, at issuer: SessionIssuer, in call: CallScope = CallScope()
  ) async throws(SessionError) {
    try await tasks.finish(.end, at: issuer.issuer.name, isWritten: false, in: call) {
      [shared] call async throws(SessionError) in
      try await shared.revocation.revoke(token, hint: hint, at: issuer, in: call)
    }
  }

  /// Revokes the session's refresh token, or its access token where it has none. The session stays, without tokens.
  public func revokeTokens(
    of handle: SessionHandle, at issuer: SessionIssuer, in call: CallScope = CallScope()
  ) async throws(SessionError) {
    try await ending.revokeTokens(of: handle, at: issuer, in: call)
  }
}
