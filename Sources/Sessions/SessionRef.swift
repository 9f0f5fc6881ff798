public import OAuthClient
public import PosternSupport
package import SessionRecords

/// A session, and who may use it: where a fetch or a decision gets its user's tokens.
public struct SessionRef: Sendable, ConciseStringConvertible {
  /// The session; nil for `only`, which looks it up each time.
  public let handle: SessionHandle?
  /// The uid of the peer that uses it.
  public let uid: UInt32
  /// The issuer as it is configured now.
  public let issuer: SessionIssuer
  /// Where sessions are kept.
  public let sessions: UserSessions
  /// The handle's hash, the uid and the issuer.
  public var description: String { "session \(handle.map { "\($0) " } ?? "")of uid \(uid) at \(issuer.issuer.name)" }

  /// The session of that handle.
  public init(
    handle: SessionHandle, uid: UInt32 = PeerID.ownUID, issuer: SessionIssuer, sessions: UserSessions
  ) {
    self.init(handle, uid, issuer, sessions)
  }

  /// The one live session of the kind that is needed, which `uid` has at the issuer: for programs whose uid is the
  /// user. A request fails unless there is exactly one.
  public static func only(
    of uid: UInt32 = PeerID.ownUID, at issuer: SessionIssuer, sessions: UserSessions
  ) -> SessionRef {
    SessionRef(nil, uid, issuer, sessions)
  }

  private init(_ handle: SessionHandle?, _ uid: UInt32, _ issuer: SessionIssuer, _ sessions: UserSessions) {
    self.handle = handle
    self.uid = uid
    self.issuer = issuer
    self.sessions = sessions
  }

  /// The session's handle: the given one, or that of the uid's only one of that kind at the issuer.
  public func handle(of kind: SessionKind, in call: CallScope = CallScope()) async throws(SessionError) -> SessionHandle
  {
    if let handle { return handle }
    guard let only = try await sessions.onlySession(of: kind, at: issuer.issuer.name, in: call.of(uid)) else {
      throw SessionError(.expired, "no live \(kind.rawValue) session")
    }
    return only
  }

  /// The same with its handle, found once for all that a call does with it. The session must be of that kind.
  package func found(_ kind: SessionKind, in call: CallScope) async throws(SessionError) -> SessionRef {
    let handle = try await handle(of: kind, in: call)
    return try found(try await sessions.live(handle, in: call.of(uid)), kind)
  }

  /// The same of a session whose handle is given and that is in memory; nil: it has to be looked up.
  package func foundInMemory(_ kind: SessionKind, in call: CallScope) throws(SessionError) -> SessionRef? {
    guard let handle, let live = try sessions.repository.cached(handle, in: call.of(uid)) else { return nil }
    return try found(live, kind)
  }

  private func found(_ live: LiveSession, _ kind: SessionKind) throws(SessionError) -> SessionRef {
    guard live.contents.kind == kind else { throw SessionError(.expired, "the session is of another kind") }
    return SessionRef(live.handle, uid, issuer, sessions)
  }

  /// Keeps the session's tokens from being revoked behind a step-up, until the use is ended.
  package func beginUse(
    of kind: SessionKind, in call: CallScope
  ) async throws(SessionError) -> RunningUses<RecordKey>.Use {
    sessions.uses.begin(try await handle(of: kind, in: call).key)
  }

  /// The same of a session with a handle; nil without one.
  package func beginUse() -> RunningUses<RecordKey>.Use? { handle.map { sessions.uses.begin($0.key) } }

  /// A token of the session, of that kind, that meets `need`: see `UserSessions.token`.
  package func token(
    _ need: TokenNeed, _ kind: SessionKind, in call: CallScope
  ) async throws(SessionError) -> AccessToken {
    try await sessions.token(need, of: handle(of: kind, in: call), at: issuer, in: call.of(uid))
  }

  /// The same of a session with a handle, as far as it is in memory and fresh; nil: it has to be waited for.
  package func cachedToken(_ need: TokenNeed, in call: CallScope) throws(SessionError) -> AccessToken? {
    guard let handle else { return nil }
    return try sessions.refresher.cachedToken(need, of: handle, at: issuer, in: call.of(uid))
  }

  /// The token that `token` would begin with, fresh or not, and whether it can be refreshed. Nothing is requested.
  package func current(
    _ need: TokenNeed, _ kind: SessionKind, in call: CallScope
  ) async throws(SessionError) -> (token: AccessToken?, canBeRefreshed: Bool) {
    let (live, slot) = try await sessions.refresher.current(
      need, of: handle(of: kind, in: call), at: issuer, in: call.of(uid))
    return (live.tokens[slot], live.contents.isRefreshable)
  }
}
