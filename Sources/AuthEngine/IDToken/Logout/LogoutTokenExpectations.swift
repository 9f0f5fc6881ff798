public import Support

/// What one call asks of a logout token.
public struct LogoutTokenExpectations: Sendable {
  /// The client the token must be for.
  public var clientID: String
  /// Replaces the configured clock skew; at most 300 s.
  public var clockSkew: Duration?
  /// The time to judge by; nil: now.
  public var now: Timestamp?

  /// Expectations of the given client; the others keep their defaults until they are set.
  public init(clientID: String) { self.clientID = clientID }
}
