import PosternSupport

/// The binding of an access token to its sender.
package enum TokenBinding: Sendable {
  /// No binding; the token request had no proof.
  case none
  /// No binding, although the token request had a proof: the issuer does not bind tokens.
  case declined
  /// A binding to the key of the request's proof (RFC 9449 section 5).
  case key(DPoPKey)

  /// The key that the token is bound to.
  package var key: DPoPKey? {
    if case .key(let key) = self { return key }
    return nil
  }

  /// The type in the record of a token; nil where no proof was involved, as in records from before DPoP.
  package var storedType: String? {
    switch self {
    case .none: nil
    case .declined: TokenType.bearer.rawValue
    case .key: TokenType.dpop.rawValue
    }
  }
}

/// The type of an access token (RFC 6749 section 7.1), of those that are understood.
public enum TokenType: String, Sendable, Hashable, CaseIterable {
  /// A bearer token: anyone who has it can use it (RFC 6750).
  case bearer = "Bearer"
  /// A token that is used with a proof of its key (RFC 9449).
  case dpop = "DPoP"

  /// Returns the type of that name in any case; nil for an unknown one, whose token must not be used.
  package init?(named name: String) {
    switch name.lowercasedASCII() {
    case "bearer": self = .bearer
    case "dpop": self = .dpop
    default: return nil
    }
  }
}
