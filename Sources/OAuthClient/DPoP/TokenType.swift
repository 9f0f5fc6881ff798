import PosternSupport

/// How a token is used (RFC 6749 section 7.1): the types that are understood.
public enum TokenType: String, Sendable, Hashable {
  /// Whoever has it may use it (RFC 6750).
  case bearer = "Bearer"
  /// With a proof of possession of its key (RFC 9449).
  case dpop = "DPoP"

  /// The type of that name in any case; nil for one that is not understood, whose token must not be used.
  package init?(named name: String) {
    switch name.lowercasedASCII() {
    case "bearer": self = .bearer
    case "dpop": self = .dpop
    default: return nil
    }
  }
}
