/// Scopes as requests ask for them (RFC 6749 section 3.3).
enum Scopes {
  /// Scopes that mean nothing without a user.
  private static let ofUsers: Set<String> = ["openid", "email", "offline_access"]

  /// What is granted out of `allowed`: all that was asked for, or everything when nothing was.
  static func granted(_ asked: String?, of allowed: [String]) throws(OAuthError) -> [String] {
    guard let asked else { return allowed }
    var scopes: [String] = []
    for scope in asked.split(separator: " ").map(String.init) where !scopes.contains(scope) {
      guard allowed.contains(scope) else { throw OAuthError(.invalidScope, "a scope is unknown or not allowed here") }
      scopes.append(scope)
    }
    guard !scopes.isEmpty else { throw OAuthError(.invalidScope, "no scope within scope") }
    return scopes
  }

  /// What `client` may have for itself.
  static func withoutUser(of client: PlaygroundClient) -> [String] { client.scopes.filter { !ofUsers.contains($0) } }
}
