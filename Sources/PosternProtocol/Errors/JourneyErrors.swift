public import PosternJSONRPC

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
