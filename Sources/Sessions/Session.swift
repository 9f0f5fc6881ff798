public import PosternJSON
public import PosternSupport

/// A session as a caller may see it; never a token.
public struct Session: Sendable, ConciseStringConvertible {
  /// The handle.
  public let handle: SessionHandle
  /// The issuer's name in the configuration.
  public let issuer: String
  /// The user's identifier at the issuer, where it is known.
  public let subject: String?
  /// The kind of session.
  public let kind: SessionKind
  /// The scope that was granted.
  public let scope: String?
  /// When it began.
  public let createdAt: Timestamp
  /// When it ends; nil when that is not known.
  public let expiresAt: Timestamp?
  /// When the current access token expires.
  public let accessTokenExpiresAt: Timestamp?
  /// The claims of the ID token.
  public let claims: JSONObject?
  /// The authentication context.
  public let acr: String?
  /// When the user authenticated.
  public let authenticatedAt: Timestamp?

  /// `session of alice at corp, expires 2026-01-02T03:04:05.678Z`.
  public var description: String {
    let user = "\(kind == .user ? "session" : "implicit session") of \(Concise.name(subject ?? "an unknown user"))"
    return Concise.text("\(user) at \(Concise.name(issuer))", expiresAt.map { "expires \($0)" })
  }
}

/// The kind of a session.
public enum SessionKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// A user who was there.
  case user
  /// A registered profile, logged in by client authentication without a user.
  case implicit
}
