public import PosternSupport

/// What one call asks of a logout token.
public struct LogoutTokenExpectations: Sendable {
  /// The client the token must be for.
  public var clientID: String
  /// Whose memory of used tokens counts: tokens that are verified with other keys must not meet (RFC 8725 section 3.8).
  public var realm: String
  /// Replaces the configured clock skew; at most 300 s.
  public var clockSkew: Duration?
  /// The time to judge by; nil: now.
  public var now: Timestamp?

  /// Expectations of the given client; the others keep their defaults until they are set.
  public init(clientID: String, realm: String = "") {
    self.clientID = clientID
    self.realm = realm
  }
}
