public import PosternSupport

/// What one call asks of an introspected token.
public struct IntrospectionExpectations: Sendable {
  /// Whom the token must be for; nil: not asked.
  public var audience: String?
  /// The scopes that must all be granted.
  public var requiredScopes: [String]
  /// The client that presents the token, where it is known.
  public var clientID: String?
  /// What the token is used as: `Bearer`, `DPoP`; nil: not asked.
  public var tokenType: String?
  /// Replaces the configured clock skew; at most 300 s.
  public var clockSkew: Duration?
  /// The time to judge by; nil: now.
  public var now: Timestamp?

  /// Expectations of the given parts; the others keep their defaults until they are set.
  public init(
    audience: String? = nil, requiredScopes: [String] = [], clientID: String? = nil, tokenType: String? = nil
  ) {
    self.audience = audience
    self.requiredScopes = requiredScopes
    self.clientID = clientID
    self.tokenType = tokenType
  }
}
