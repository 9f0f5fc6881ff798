public import PosternJSONRPC

/// The errors of `fetchResource` (wire.md section 4.1).
extension RPCErrorCode {
  public static let notAuthenticated = RPCErrorCode(1001, "not_authenticated", "No live user session")
  public static let notImplicitlyAuthenticated = RPCErrorCode(
    1002, "not_implicitly_authenticated", "No live implicit session")
  public static let deviceNotAuthenticated = RPCErrorCode(
    1003, "device_not_authenticated", "The issuer returned no token for client credentials")
  public static let methodNotAllowed = RPCErrorCode(1004, "method_not_allowed", "The HTTP method is not supported")
  public static let invalidHeaders = RPCErrorCode(1005, "invalid_headers", "A header is malformed or reserved")
  public static let invalidURL = RPCErrorCode(1006, "invalid_url", "Not an acceptable path or URL")
  public static let originNotAllowed = RPCErrorCode(
    1007, "origin_not_allowed", "The URL is outside of what the resource allows")
  public static let networkUnreachable = RPCErrorCode(1008, "network_unreachable", "The network is unreachable")
  public static let serverUnreachable = RPCErrorCode(1009, "server_unreachable", "The server cannot be reached")
  public static let tlsFailure = RPCErrorCode(1010, "tls_failure", "TLS failed, or the server could not be verified")
  public static let pinMismatch = RPCErrorCode(1011, "pin_mismatch", "None of the server's keys is pinned")
  public static let responseTooLarge = RPCErrorCode(1012, "response_too_large", "The response is over the size limit")
  public static let protocolError = RPCErrorCode(
    1013, "protocol_error", "The server violated HTTP, or redirected too often")
  public static let debuggerAttached = RPCErrorCode(
    1014, "debugger_attached", "A debugger is attached to the sidecar: fetches are rejected")
  public static let payloadEncryptionFailed = RPCErrorCode(
    1015, "payload_encryption_failed", "A body could not be encrypted, or a response is not encrypted as required")
  public static let adviceRequired = RPCErrorCode(
    1017, "advice_required", "The user has to do something first: advice, continuation")
  public static let adviceFailed = RPCErrorCode(
    1018, "advice_failed", "The required step-up failed or was not completed")
  public static let interactionRequired = RPCErrorCode(
    1019, "interaction_required", "The issuer gives no token on behalf of the user before that user has done something")
  public static let taskNotFound = RPCErrorCode(1016, "task_not_found", "No such task, for this peer")
}

/// The errors of sessions and tokens (wire.md section 5).
extension RPCErrorCode {
  public static let sessionNotFound = RPCErrorCode(5001, "session_not_found", "No such session, for this peer")
  public static let sessionExpired = RPCErrorCode(5002, "session_expired", "The user has to log in again")
  public static let tokenEndpointError = RPCErrorCode(
    5003, "token_endpoint_error", "The issuer answered with an error")
  public static let tokenEndpointUnreachable = RPCErrorCode(
    5004, "token_endpoint_unreachable", "The issuer does not answer")
  public static let authorizationFailed = RPCErrorCode(
    5005, "authorization_failed", "The authorization failed")
  public static let stateUnknown = RPCErrorCode(
    5006, "state_unknown", "No authorization of that state is under way for this peer")
  public static let authorizationPending = RPCErrorCode(
    5007, "authorization_pending", "The user has not decided yet; ask again after retryAfterMs")
  public static let storeUnavailable = RPCErrorCode(5008, "store_unavailable", "The session store cannot be used now")
  public static let sessionIssuerUnknown = RPCErrorCode(5009, "issuer_unknown", "No such issuer is configured")
  public static let grantNotSupported = RPCErrorCode(
    5010, "grant_not_supported", "The issuer is not configured for this grant, or does not support it")
}

/// The errors of journeys (wire.md section 4.4).
extension RPCErrorCode {
  public static let adviceNotRecognised = RPCErrorCode(
    3001, "advice_not_recognised", "There is no advice that a user can satisfy")
  public static let continuationUnknown = RPCErrorCode(
    3002, "continuation_unknown", "No such continuation waits for this peer: it expired, was used, or is another's")
  public static let authenticationTimedOut = RPCErrorCode(
    3003, "authentication_timed_out", "The access manager has ended the journey: it took too long")
  public static let accessManagerUnreachable = RPCErrorCode(
    3004, "access_manager_unreachable", "The access manager cannot be reached")
  public static let accessManagerError = RPCErrorCode(
    3005, "access_manager_error", "The access manager returned an error or an invalid response")

  /// The errors of every method that continues a journey.
  static let journeys: [RPCErrorCode] = [
    .continuationUnknown, .authenticationTimedOut, .accessManagerUnreachable, .accessManagerError, .sessionNotFound,
    .sessionExpired, .tokenEndpointError, .tokenEndpointUnreachable, .authorizationFailed, .stateUnknown,
    .storeUnavailable, .sessionIssuerUnknown, .grantNotSupported,
  ]
}

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

/// The errors of `pass.*` (wire.md section 4.5).
extension RPCErrorCode {
  public static let passError = RPCErrorCode(6001, "pass_error", "Adobe Pass answered, and it was no success")
  public static let passUnreachable = RPCErrorCode(6002, "pass_unreachable", "Adobe Pass gave no usable answer")
  public static let passNotConfigured = RPCErrorCode(
    6003, "pass_not_configured", "No decision point of kind adobe-pass has that name")
}
