/// What the sidecar itself has to say, in the words of the SDK that the method is modelled on.
extension Status {
  /// No decision point of that name, or one that is not ready.
  public static func requestorNotConfigured(_ details: String) -> Status {
    Status(
      status: 0, code: "requestor_not_configured", action: "retry",
      message: "The decision point is not configured yet.",
      details: details)
  }

  /// Nobody is logged in.
  public static func sessionMissing(_ details: String? = nil) -> Status {
    Status(
      status: 0, code: "authentication_session_missing", action: "authentication",
      message: "There is no login for this request. The user has to log in.", details: details)
  }

  /// The login is over.
  public static let sessionExpired = Status(
    status: 0, code: "authentication_session_expired", action: "authentication",
    message: "The login has expired. The user has to log in again.")

  /// The decision point did not take the sidecar's own credentials, or none could be got.
  static func accessTokenUnavailable(_ details: String) -> Status {
    Status(
      status: 0, code: "access_token_unavailable", action: "none",
      message: "The sidecar has no credentials that the decision point accepts.", details: details)
  }

  /// A user has had the sidecar's credentials replaced too often by now.
  static let replacedTooOften = accessTokenUnavailable(
    "the access token has been replaced too often in a short time")

  /// What came back could not be understood.
  static func formatUnknown(_ details: String, trace: String? = nil) -> Status {
    Status(
      status: 0, code: "server_response_format_unknown", action: "none",
      message: "The decision point's answer could not be understood.", details: details, trace: trace)
  }

  /// No answer came.
  static func networkError(_ details: String) -> Status {
    Status(
      status: 0, code: "network_error", action: "retry", message: "The decision point could not be reached.",
      details: details)
  }

  /// A deny that came without a reason of its own.
  static func denied(message: String? = nil, details: String? = nil, trace: String? = nil) -> Status {
    Status(
      status: 403, code: "authorization_denied", action: "none", message: message ?? "Access is denied.",
      details: details, trace: trace)
  }
}
