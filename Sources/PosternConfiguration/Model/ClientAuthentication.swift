/// How a client proves to the authorization server who it is (RFC 6749 section 2.3, RFC 7523, RFC 8705).
public enum ClientAuthentication: String, Sendable, Hashable, CaseIterable {
  /// The secret in the Authorization header (RFC 6749 section 2.3.1).
  case clientSecretBasic = "client_secret_basic"
  /// The secret in the form (RFC 6749 section 2.3.1).
  case clientSecretPost = "client_secret_post"
  /// An assertion signed with the client's key (RFC 7523 section 2.2).
  case privateKeyJWT = "private_key_jwt"
  /// A client certificate (RFC 8705 section 2.1).
  case tlsClientAuth = "tls_client_auth"
  /// Nothing but the client's id: a public client.
  case none
}
