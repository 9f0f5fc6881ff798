/// What binds an access token to its sender.
package enum TokenBinding: Sendable {
  /// Nothing; its request carried no proof.
  case none
  /// Nothing, although its request carried a proof: the issuer does not bind tokens.
  case declined
  /// The key of the request's proof (RFC 9449 section 5).
  case key(DPoPKey)

  /// The key that goes with the token.
  package var key: DPoPKey? {
    if case .key(let key) = self { return key }
    return nil
  }

  /// The type under which a token is stored; nil where no proof was involved, as in records from before there were any.
  package var storedType: String? {
    switch self {
    case .none: nil
    case .declined: TokenType.bearer.rawValue
    case .key: TokenType.dpop.rawValue
    }
  }
}
