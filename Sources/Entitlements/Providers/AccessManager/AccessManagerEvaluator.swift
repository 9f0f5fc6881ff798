public import PosternSupport

/// Whose session evaluates policies.
public enum AccessManagerEvaluator: Sendable {
  /// A session that somebody made.
  case ssoToken(Secret<String>)
  /// A user who is logged in when needed.
  case user(name: Secret<String>, password: Secret<String>)
}
