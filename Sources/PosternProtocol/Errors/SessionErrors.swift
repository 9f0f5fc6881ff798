public import PosternJSONRPC

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
