import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport

extension DecisionFault {
  /// The longest pause that a server can ask for.
  private static let maxPause = Duration.seconds(3600)

  /// What an answer other than 2xx means.
  init(_ response: HTTPResponse, trace: String?) {
    let document = DecisionReply.isJSON(response) ? try? DecisionReply.parser.parse(response.body) : nil
    let said = document.flatMap { EnhancedError.read(in: $0, status: response.status, trace: trace) }
    let asked = RetryAfter.of(response.fields).map { min($0, Self.maxPause) }
    switch response.status {
    case 429:
      // Its body is HTML more often than not.
      self.init(
        said
          ?? Status(
            status: 429, code: "too_many_requests", action: "retry-after",
            message: "The decision point has been asked too often.", trace: trace),
        retry: .after(Self.pause(after: response)))
    case 400..<600:
      let isRetryable = said?.action == "retry" || (said == nil && (502...504).contains(response.status))
      self.init(
        said ?? Self.unsaid(response.status, trace), retry: isRetryable ? .after(asked) : .never,
        remedy: Self.remedy(response.status, said?.code))
    default:
      self = .format("the decision point answered with status \(response.status)", trace: trace)
    }
  }

  /// How long to leave a decision point alone that answered 429, at least a second.
  static func pause(after response: HTTPResponse) -> Duration {
    max(.seconds(1), min(RetryAfter.of(response.fields) ?? .zero, maxPause))
  }

  /// Codes of 400 that may be about one of the resources.
  private static let aboutResources: Set<String> = [
    "bad_request", "invalid_parameter_resources", "invalid_parameter_value", "invalid_resource_value",
    "malformed_authz_request", "missing_resource", "missing_resource_mapping",
  ]

  private static func remedy(_ status: Int, _ code: String?) -> Remedy {
    if code == "too_many_resources" || code == "P100" { return .shrink }
    // What is known to be about something else is not found by asking about fewer.
    if let code, EnhancedErrorTable[code] != nil, !aboutResources.contains(code) { return .none }
    // 413 is about bytes: how many resources the next batch may have does not follow.
    return [400, 413, 422].contains(status) ? .split : .none
  }

  private static func unsaid(_ status: Int, _ trace: String?) -> Status {
    status < 500
      ? Status(
        status: status, code: "bad_request", action: "none",
        message: "The decision point refused the request with status \(status).", trace: trace)
      : Status(
        status: status, code: "internal_server_error", action: "none",
        message: "The decision point failed with status \(status).", trace: trace)
  }

  /// What the absence of an answer means.
  init(_ error: TransportError) {
    let retry: Retry =
      switch error.code {
      case .networkUnreachable, .serverUnreachable, .protocolError: .after(nil)
      default: .never
      }
    switch error.code {
    case .responseTooLarge: self = .format("the decision point's answer is too large")
    default: self.init(.networkError(error.cause), retry: retry)
    }
  }
}
