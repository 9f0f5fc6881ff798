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
