/// The key whose possession the presenter of an access token has shown, by its thumbprint.
public enum TokenConfirmation: Sendable, Hashable {
  /// The thumbprint of the key of a DPoP proof (RFC 9449 section 6.1).
  case jkt(String)
  /// The thumbprint of the client certificate, SHA-256, base64url (RFC 8705 section 3.1).
  case x5tS256(String)

  /// The member of `cnf` with its value.
  var member: (name: String, value: String) {
    switch self {
    case .jkt(let thumbprint): ("jkt", thumbprint)
    case .x5tS256(let thumbprint): ("x5t#S256", thumbprint)
    }
  }
}
