/// Why an introspection says nothing about the token.
public enum IntrospectionError: Error, Sendable {
  /// The authorization server could not be asked, or did not answer with 200.
  case unanswered(TokenError)
  /// Not what RFC 7662 section 2.2 asks for. The text is for logs and quotes nothing.
  case malformed(String)
  /// A signed answer that is not the authorization server's, or not for this resource server (RFC 9701 section 5).
  case unverified(TokenFault)
  /// There are no keys to verify a signed answer with.
  case undecided(KeySetError)
}
