/// Scopes as requests ask for them (RFC 6749 section 3.3).
enum Scopes {
  /// Scopes that mean nothing without a user.
  private static let ofUsers: Set<String> = ["openid", "email", "offline_access"]

  /// The granted scopes out of `allowed`: the requested ones, or all when none was requested.
  static func granted(_ requested: String?, of allowed: [String]) throws(OAuthError) -> [String] {
    guard let requested else { return allowed }
    var scopes: [String] = []
    for scope in requested.split(separator: " ").map(String.init) where !scopes.contains(scope) {
      guard allowed.contains(scope) else { throw OAuthError(.invalidScope, "a scope is unknown or not allowed here") }
      scopes.append(scope)
    }
    guard !scopes.isEmpty else { throw OAuthError(.invalidScope, "no scope within scope") }
    return scopes
  }

  /// The scopes that `client` may have for itself.
  static func withoutUser(of client: PlaygroundClient) -> [String] { client.scopes.filter { !ofUsers.contains($0) } }
}
