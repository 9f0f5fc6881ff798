package import OAuthClient
public import PosternSupport
package import SessionRecords

/// The session whose token a fetch carries, and who may use it.
public struct FetchSession: Sendable, ConciseStringConvertible {
  /// The session; nil for `only`, which looks it up with each request.
  public let handle: SessionHandle?
  /// The uid of the peer that fetches.
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
  /// user. A request fails when there is none, and when there are several.
  public static func only(
    of uid: UInt32 = PeerID.ownUID, at issuer: SessionIssuer, sessions: UserSessions
  ) -> FetchSession {
    FetchSession(nil, uid, issuer, sessions)
  }

  private init(_ handle: SessionHandle?, _ uid: UInt32, _ issuer: SessionIssuer, _ sessions: UserSessions) {
    self.handle = handle
    self.uid = uid
    self.issuer = issuer
    self.sessions = sessions
  }

  /// Keeps a user's tokens from being revoked behind a step-up, until it is ended.
  package func tokenUse() async throws(SessionError) -> RunningUses<RecordKey>.Use {
    sessions.uses.begin(try await handle(of: .user).key)
  }

  /// The session that is meant: the given one, or the uid's only one of that kind at the issuer.
  public func handle(of kind: SessionKind) async throws(SessionError) -> SessionHandle {
    if let handle { return handle }
    guard let only = try await sessions.onlySession(of: kind, at: issuer.issuer.name, ownedBy: uid) else {
      throw SessionError(.expired, "no live \(kind.rawValue) session")
    }
    return only
  }

  /// Finds the session that is meant, once for all that a call does with it. It must be of that kind.
  package func tokens(_ kind: SessionKind) async throws(SessionError) -> SessionTokens {
    let handle = try await handle(of: kind)
    guard try await sessions.session(handle, ownedBy: uid).kind == kind else {
      throw SessionError(.expired, "the session is of another kind")
    }
    return SessionTokens(handle: handle, session: self)
  }
}

/// The tokens of a session that a call has found.
package struct SessionTokens: Sendable {
  package let handle: SessionHandle
  fileprivate let session: FetchSession

  /// The uid that owns the session.
  package var uid: UInt32 { session.uid }

  /// Keeps the tokens from being revoked behind a step-up, until it is ended.
  package func beginUse() -> RunningUses<RecordKey>.Use { session.sessions.uses.begin(handle.key) }

  /// A token for `scope` and `audience`; see `UserSessions.token`.
  package func token(
    scope: String?, audience: String?, replacing rejected: AccessToken?, deadline: Deadline, trace: TraceContext?
  ) async throws(SessionError) -> AccessToken {
    try await session.sessions.token(
      of: handle, ownedBy: session.uid, at: session.issuer, scope: scope, audience: audience, mayLackScope: true,
      replacing: rejected, deadline: deadline, trace: trace)
  }

  /// The token that `token` would begin with, fresh or not, and whether it can be refreshed. Nothing is requested.
  package func current(
    scope: String?, audience: String?
  ) async throws(SessionError) -> (token: AccessToken?, canBeRefreshed: Bool) {
    let (live, slot) = try await session.sessions.refresher.current(
      TokenQuery(
        handle: handle, uid: uid, issuer: session.issuer, scope: scope, audience: audience,
        mayLackScope: true))
    return (live.tokens[slot], live.contents.isRefreshable)
  }
}
