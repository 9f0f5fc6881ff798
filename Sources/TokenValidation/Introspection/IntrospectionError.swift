public import KeySets
public import OAuthClient

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

extension IntrospectionError {
  /// What the issuer did wrong; nil where the caller gave up, or it is the key set's fault, which is told by itself.
  var fault: TokenError? {
    switch self {
    case .unanswered(let error):
      switch error.kind {
      case .cancelled, .deadlineExceeded: nil
      default: error
      }
    case .malformed(let detail): TokenError(.malformed, detail)
    case .unverified(let fault):
      TokenError(.malformed, "the signed introspection response is refused: \(fault.code.rawValue)")
    case .undecided: nil
    }
  }
}
