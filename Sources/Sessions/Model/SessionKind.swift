/// Whose session it is.
public enum SessionKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// A user who was there.
  case user
  /// A registered profile, logged in with the client's own credentials while no user was there.
  case implicit
}
