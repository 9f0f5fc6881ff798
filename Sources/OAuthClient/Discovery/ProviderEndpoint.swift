/// An endpoint of an authorization server; the raw value is its member in the server's metadata (RFC 8414 section 2 and
/// its registry).
public enum ProviderEndpoint: String, Sendable, Hashable, CaseIterable {
  /// Where authorization begins (RFC 6749 section 3.1).
  case authorization = "authorization_endpoint"
  /// Where tokens come from (RFC 6749 section 3.2).
  case token = "token_endpoint"
  /// The key set (RFC 7517).
  case jwks = "jwks_uri"
  /// Token introspection (RFC 7662).
  case introspection = "introspection_endpoint"
  /// Token revocation (RFC 7009).
  case revocation = "revocation_endpoint"
  /// Device authorization (RFC 8628).
  case deviceAuthorization = "device_authorization_endpoint"
  /// RP-initiated logout (OpenID Connect).
  case endSession = "end_session_endpoint"
  /// Claims about the user (OpenID Connect Core section 5.3).
  case userInfo = "userinfo_endpoint"
  /// Pushed authorization requests (RFC 9126).
  case pushedAuthorizationRequest = "pushed_authorization_request_endpoint"
}
