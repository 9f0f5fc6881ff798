public import OAuthClient
public import PosternSupport

/// Whose token goes along to a decision point.
public enum DecisionCredential: Sendable {
  /// None.
  case none
  /// A fixed bearer token.
  case token(Secret<String>)
  /// The sidecar's own.
  case device(ClientCredentialsGrant)
  /// The session's.
  case user
}
