/// The session whose token a fetch carries, and who may use it.
public struct FetchSession: Sendable {
  /// The session.
  public let handle: SessionHandle
  /// The peer that asks.
  public let owner: UInt32
  /// The issuer as it is configured now.
  public let issuer: SessionIssuer
  /// Where sessions are kept.
  public let sessions: UserSessions

  /// A session of the given parts.
  public init(handle: SessionHandle, owner: UInt32, issuer: SessionIssuer, sessions: UserSessions) {
    self.handle = handle
    self.owner = owner
    self.issuer = issuer
    self.sessions = sessions
  }
}
