import OAuthClient

/// The session whose token a fetch carries, and who may use it.
public struct FetchSession: Sendable {
  /// The session; nil: the owner's only one of the kind that is needed, at that issuer.
  public let handle: SessionHandle?
  /// The peer that asks.
  public let owner: UInt32
  /// The issuer as it is configured now.
  public let issuer: SessionIssuer
  /// Where sessions are kept.
  public let sessions: UserSessions

  /// A session of the given parts.
  public init(handle: SessionHandle? = nil, owner: UInt32, issuer: SessionIssuer, sessions: UserSessions) {
    self.handle = handle
    self.owner = owner
    self.issuer = issuer
    self.sessions = sessions
  }

  /// Keeps a user's tokens from being revoked behind a step-up, until it is ended.
  package func tokenUse() async throws(SessionError) -> SessionUses.Use {
    sessions.uses.begin(try await handle(of: .user).key)
  }

  /// Which session is meant: the given one, or the owner's only one of that kind at the issuer.
  public func handle(of kind: SessionKind) async throws(SessionError) -> SessionHandle {
    if let handle { return handle }
    switch try await sessions.choice(of: kind, at: issuer.issuer.name, ownedBy: owner) {
    case .one(let handle): return handle
    case .none: throw SessionError(.expired, "no live \(kind.rawValue) session")
    case .several: throw .invalid("there are several \(kind.rawValue) sessions: say which", path: "/session")
    }
  }
}
