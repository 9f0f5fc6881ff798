import PosternJSON

/// A user of the playground's provider. The passwords are as well-known as the clients' secrets.
struct PlaygroundUser: Sendable {
  /// The user name for the login page.
  let name: String
  /// The password.
  let password: String
  /// `sub`: not the name, so that neither is taken for the other.
  let subject: String
  /// The name for people.
  let fullName: String
  /// Whether they may ask the access manager about others.
  var mayEvaluatePolicies = false

  /// The users there are.
  static let all = [
    PlaygroundUser(name: "alice", password: "alice-password", subject: "user-1001", fullName: "Alice Ashby"),
    PlaygroundUser(name: "bob", password: "bob-password", subject: "user-1002", fullName: "Bob Bright"),
    PlaygroundUser(
      name: "warden", password: "warden-password", subject: "user-2001", fullName: "Walter Warden",
      mayEvaluatePolicies: true),
  ]

  /// The user who logs in with `name`.
  static func named(_ name: String) -> PlaygroundUser? { all.first { $0.name == name } }

  /// The user with this `sub`.
  static func withSubject(_ subject: String) -> PlaygroundUser? { all.first { $0.subject == subject } }

  /// The claims that `scopes` ask for (OpenID Connect Core section 5.4).
  func claims(for scopes: [String]) -> JSONObject {
    var claims: JSONObject = ["sub": .string(subject)]
    if scopes.contains("profile") {
      claims["name"] = .string(fullName)
      claims["preferred_username"] = .string(name)
    }
    if scopes.contains("email") {
      claims["email"] = .string("\(name)@example.test")
      claims["email_verified"] = true
    }
    return claims
  }
}
