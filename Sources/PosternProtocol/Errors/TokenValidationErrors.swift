public import PosternJSONRPC

/// The errors of token validation (wire.md section 4.3): it could not be decided.
extension RPCErrorCode {
  public static let jwksFetchFailed = RPCErrorCode(2001, "jwks_fetch_failed", "The key set cannot be fetched")
  public static let discoveryFailed = RPCErrorCode(2002, "discovery_failed", "The issuer's metadata cannot be fetched")
  public static let discoveryIssuerMismatch = RPCErrorCode(
    2003, "discovery_issuer_mismatch", "The metadata's issuer is not the configured one")
  public static let jwksInvalid = RPCErrorCode(2004, "jwks_invalid", "Not a valid JWK or JWK Set")
  public static let issuerUnknown = RPCErrorCode(2005, "issuer_unknown", "No issuer of that name is configured")
  public static let jwksURLNotAllowed = RPCErrorCode(
    2006, "jwks_url_not_allowed", "The configuration does not allow key sets from that origin")
  public static let introspectionFailed = RPCErrorCode(
    2007, "introspection_failed", "The authorization server could not determine whether the token is active")
}

extension RPCErrorCode {
  /// The errors of every method that needs an issuer's keys.
  static let keySources: [RPCErrorCode] = [
    .jwksFetchFailed, .discoveryFailed, .discoveryIssuerMismatch, .jwksInvalid, .issuerUnknown, .jwksURLNotAllowed,
  ]
}
