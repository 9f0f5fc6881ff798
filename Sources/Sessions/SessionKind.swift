/// The kind of a session.
public enum SessionKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// A user who was there.
  case user
  /// A registered profile, logged in by client authentication without a user.
  case implicit
}
