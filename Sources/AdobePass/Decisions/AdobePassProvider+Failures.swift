public import Entitlements

extension AdobePassProvider {
  /// Returns an error of the sidecar's own with the message that Adobe's SDK has for its code. A decision point that is
  /// not configured has no counterpart there: nothing sets the requestor.
  public func worded(_ status: Status) -> Status {
    guard status.isLocal, let message = Self.messages[status.code] else { return status }
    return status.suggesting(status.action, message: message)
  }

  private static let messages = [
    "authentication_session_expired":
      "The current authentication session has expired. The user must re-authenticate with a supported MVPD in order to continue.",
    "authentication_session_missing":
      "The authentication session associated with this request could not be retrieved. The user must re-authenticate with a supported MVPD in order to continue.",
    "access_token_unavailable":
      "The request failed due to an unexpected error while retrieving the access token. Please check the validity of your software statement and custom scheme.",
    "server_response_format_unknown":
      "The request failed due to an unknown server response format. Please capture the device console logs and contact support.",
    "network_error":
      "The request failed due to a network error. If the issue persists over several retries, please capture the device console logs and contact support.",
  ]
}
