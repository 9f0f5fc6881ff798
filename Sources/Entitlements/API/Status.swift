public import PosternSupport

/// The reason why a preauthorization, or one resource of it, is not a permit: the enhanced error of the decision point,
/// or an error of the sidecar.
///
/// Codes and actions are open sets: unknown ones pass through as they came.
public struct Status: Sendable, Hashable {
  /// The status, as HTTP numbers them; 0 for an error of the sidecar.
  public let status: Int
  /// The machine-readable code.
  public let code: String
  /// The suggested action: `none`, `configuration`, `application-registration`, `authentication`, `authorization`,
  /// `degradation`, `retry`, `retry-after`, or another.
  public let action: String
  /// An explanation for people.
  public let message: String
  /// Details in the decision point's words.
  public let details: String?
  /// The URL of further documentation.
  public let helpURL: String?
  /// The identifier by which the operator of the decision point finds this answer.
  public let trace: String?

  /// A status of the given parts.
  public init(
    status: Int, code: String, action: String, message: String, details: String? = nil, helpURL: String? = nil,
    trace: String? = nil
  ) {
    self.status = status
    self.code = code
    self.action = action
    self.message = message
    self.details = details
    self.helpURL = helpURL
    self.trace = trace
  }

  /// Whether it is an error of the sidecar, and not one of the decision point.
  public var isLocal: Bool { status == 0 }

  /// Whether there is no decision: an error of the sidecar, or a fault of the decision point. Anything else is a deny.
  package var isFault: Bool { isLocal || EnhancedError.isFault(self) }

  /// The same status with another suggested action, and another message where one is given.
  package func suggesting(_ action: String, message: String? = nil) -> Status {
    Status(
      status: status, code: code, action: action, message: message ?? self.message, details: details, helpURL: helpURL,
      trace: trace)
  }

  /// The same status, with `trace` where it has none.
  package func traced(_ trace: String?) -> Status {
    guard self.trace == nil, let trace else { return self }
    return Status(
      status: status, code: code, action: action, message: message, details: details, helpURL: helpURL, trace: trace)
  }
}

/// The sidecar's own errors, by the codes of the SDK on which the method is modelled.
extension Status {
  /// A decision point that is not ready.
  public static func requestorNotConfigured(_ details: String) -> Status {
    Status(
      status: 0, code: "requestor_not_configured", action: "retry",
      message: "The decision point is not configured yet.",
      details: details)
  }

  /// No decision point of that name, or none named where several are configured. The action is the SDK's for this code.
  public static func decisionPointUnknown(_ details: String) -> Status {
    Status(
      status: 0, code: "requestor_not_configured", action: "retry",
      message: "No such decision point is configured.", details: details)
  }

  /// No user is logged in.
  public static func sessionMissing(_ details: String? = nil) -> Status {
    Status(
      status: 0, code: "authentication_session_missing", action: "authentication",
      message: "There is no login for this request. The user has to log in.", details: details)
  }

  /// The login has expired.
  public static let sessionExpired = Status(
    status: 0, code: "authentication_session_expired", action: "authentication",
    message: "The login has expired. The user has to log in again.")

  /// The decision point rejected the sidecar's credentials, or there are none.
  package static func accessTokenUnavailable(_ details: String) -> Status {
    Status(
      status: 0, code: "access_token_unavailable", action: "none",
      message: "The sidecar has no credentials that the decision point accepts.", details: details)
  }

  /// A user has had the sidecar's credentials replaced too often in a short time.
  package static let replacedTooOften = accessTokenUnavailable(
    "the access token has been replaced too often in a short time")

  /// The answer could not be understood.
  package static func formatUnknown(_ details: String, trace: String? = nil) -> Status {
    Status(
      status: 0, code: "server_response_format_unknown", action: "none",
      message: "The decision point's answer could not be understood.", details: details, trace: trace)
  }

  /// There was no answer.
  package static func networkError(_ details: String) -> Status {
    Status(
      status: 0, code: "network_error", action: "retry", message: "The decision point could not be reached.",
      details: details)
  }

  /// A request without resources. It fails: without decisions, "all are permitted" would be true.
  package static let noResources = Status(
    status: 0, code: "bad_request", action: "none", message: "The request names no resource.")

  /// A deny without a reason of its own.
  package static func denied(message: String? = nil, details: String? = nil, trace: String? = nil) -> Status {
    Status(
      status: 403, code: "authorization_denied", action: "none", message: message ?? "Access is denied.",
      details: details, trace: trace)
  }
}

extension Status: ConciseStringConvertible {
  /// `code: message`, with the status of the decision point and the suggested action, if there is one.
  public var description: String {
    let origin = isLocal ? nil : "status \(status)"
    let advice = action == "none" ? nil : "suggested action: \(Concise.name(action))"
    let notes = Concise.text(origin, advice)
    return Concise.text("\(Concise.name(code)): \(Concise.name(message))\(notes.isEmpty ? "" : " (\(notes))")")
  }
}
