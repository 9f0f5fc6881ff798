public import PosternSupport

/// What one call asks of a JWT access token.
public struct AccessTokenExpectations: Sendable {
  /// The resource the token must be for.
  public var audience: String
  /// The scopes that must all be granted.
  public var requiredScopes: [String]
  /// The client that presents the token, where it is known.
  public var clientID: String?
  /// The key whose possession the presenter has shown. Nil: none, and a token that is bound to one is refused.
  public var confirmation: TokenConfirmation?
  /// Replaces the configured clock skew; at most 300 s.
  public var clockSkew: Duration?
  /// The time to judge by; nil: now.
  public var now: Timestamp?

  /// Expectations of the given parts; the others keep their defaults until they are set.
  public init(
    audience: String, requiredScopes: [String] = [], clientID: String? = nil, confirmation: TokenConfirmation? = nil
  ) {
    self.audience = audience
    self.requiredScopes = requiredScopes
    self.clientID = clientID
    self.confirmation = confirmation
  }
}
