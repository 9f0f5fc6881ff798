package import HTTPMessages
package import OAuthClient
import PosternJSON
public import PosternSupport

/// The reason why there is no decision. It is never a deny, and never a permit.
public struct DecisionFault: Error, Sendable, Hashable {
  /// Whether a retry may help.
  public enum Retry: Sendable, Hashable {
    /// A retry does not help.
    case never
    /// A retry may help after that time; nil leaves the delay to the caller.
    case after(Duration?)
  }

  /// A way to evaluate a batch of several resources after all.
  public enum Remedy: Sendable, Hashable {
    /// Nothing.
    case none
    /// Evaluate the halves: one of them may be without the resource that is the cause.
    case split
    /// Send fewer resources at a time, from now on.
    case shrink
  }

  /// The status that a caller gets.
  public let status: Status
  /// Whether a retry may help.
  public let retry: Retry
  /// A way to evaluate a batch of several resources after all.
  public let remedy: Remedy
  /// Whether it is about the whole request, and not about one resource.
  public let isWhole: Bool

  /// A fault of the given parts.
  public init(_ status: Status, retry: Retry = .never, remedy: Remedy = .none, isWhole: Bool = true) {
    self.status = status
    self.retry = retry
    self.remedy = remedy
    self.isWhole = isWhole
  }

  /// The same fault with another suggested action.
  package func suggesting(_ action: String) -> DecisionFault {
    DecisionFault(status.suggesting(action), retry: retry, remedy: remedy, isWhole: isWhole)
  }

  /// The answer is malformed.
  package static func format(_ details: String, remedy: Remedy = .none, trace: String? = nil) -> DecisionFault {
    DecisionFault(.formatUnknown(details, trace: trace), remedy: remedy)
  }

  /// The answer is malformed for one resource.
  package static func item(_ details: String, trace: String? = nil) -> DecisionFault {
    DecisionFault(.formatUnknown(details, trace: trace), isWhole: false)
  }
}

extension DecisionFault {
  /// The longest delay that a server can request.
  static let maxPause = Duration.seconds(3600)

  /// The fault of an answer other than 2xx.
  package init(_ response: HTTPResponse, trace: String?) {
    let document = try? DecisionReply.parser.parse(response.body)
    let error = document.flatMap { EnhancedError.read(in: $0, status: response.status, trace: trace) }
    let requested = RetryAfter.of(response.fields).map { min($0, Self.maxPause) }
    switch response.status {
    case 429:
      // Its body is HTML more often than not.
      self.init(
        error
          ?? Status(
            status: 429, code: "too_many_requests", action: "retry-after",
            message: "The decision point has received too many requests.", trace: trace),
        retry: .after(Self.pause(after: response)))
    case 400..<600:
      let isRetryable = error?.action == "retry" || (error == nil && (502...504).contains(response.status))
      self.init(
        error ?? Self.withoutError(response.status, trace), retry: isRetryable ? .after(requested) : .never,
        remedy: Self.remedy(response.status, error?.code))
    default:
      self = .format("the decision point answered with status \(response.status)", trace: trace)
    }
  }

  /// Returns the delay before the next request after a 429, at least a second.
  package static func pause(after response: HTTPResponse) -> Duration {
    max(.seconds(1), min(RetryAfter.of(response.fields) ?? .zero, maxPause))
  }

  /// Codes with status 400 that may be about one of the resources.
  private static let aboutResources: Set<String> = [
    "bad_request", "invalid_parameter_resources", "invalid_parameter_value", "invalid_resource_value",
    "malformed_authz_request", "missing_resource", "missing_resource_mapping",
  ]

  private static func remedy(_ status: Int, _ code: String?) -> Remedy {
    if code == "too_many_resources" || code == "P100" { return .shrink }
    // An error that is known to be about something else remains with fewer resources.
    if let code, EnhancedErrorTable[code] != nil, !aboutResources.contains(code) { return .none }
    // A 413 is about bytes: it does not say how many resources the next batch may have.
    return [400, 413, 422].contains(status) ? .split : .none
  }

  private static func withoutError(_ status: Int, _ trace: String?) -> Status {
    status < 500
      ? Status(
        status: status, code: "bad_request", action: "none",
        message: "The decision point rejected the request with status \(status).", trace: trace)
      : Status(
        status: status, code: "internal_server_error", action: "none",
        message: "The decision point failed with status \(status).", trace: trace)
  }

  /// The fault of a request without an answer.
  init(_ error: TransportError) {
    let retry: Retry =
      switch error.code {
      case _ where error.proxy?.isTransient == false: .never
      case .networkUnreachable, .serverUnreachable, .protocolError: .after(nil)
      default: .never
      }
    switch error.code {
    case .responseTooLarge: self = .format("the decision point's answer is too large")
    default: self.init(.networkError(error.cause), retry: retry)
    }
  }
}

extension DecisionFault {
  /// The fault of a request without a token: the sidecar's own problem, never a decision. An unreachable server is an
  /// outage; an answer without a token, whatever its status, leaves the sidecar without credentials.
  package init(_ error: TokenError) {
    switch error.kind {
    case .unreachable(let transport):
      self.init(.networkError(error.detail), retry: DecisionFault(transport).retry)
    case .deadlineExceeded, .cancelled: self.init(.networkError(error.detail))
    case .unavailable:
      self.init(
        .accessTokenUnavailable(error.detail),
        retry: .after(error.retryAfter ?? (error.status == 429 ? .seconds(1) : nil)))
    case .rejected, .malformed, .discovery, .notPossible, .assertion: self.init(.accessTokenUnavailable(error.detail))
    }
  }

  /// The fault of a caller whose wait for a shared request, which was to bring `result`, ended.
  package init(endOf wait: EndedWait, beforeThereWas result: String) {
    switch wait {
    case .cancelled: self.init(.networkError("cancelled"))
    case .deadlineExceeded: self.init(.networkError("timed out before there was \(result)"))
    }
  }

  /// Whether no server answered.
  package var isOutage: Bool { status.isLocal && status.code == Status.networkError("").code }
}

extension DecisionFault: ConciseStringConvertible {
  /// `code: message`, with the status of the decision point, and whether a retry may help.
  public var description: String { Concise.text("\(status)", retry == .never ? nil : "\(retry)") }
}

extension DecisionFault.Retry: ConciseStringConvertible {
  /// Whether a retry may help, and when.
  public var description: String {
    switch self {
    case .never: "no retry helps"
    case .after(let wait): wait.map { "a retry may help after \($0)" } ?? "a retry may help"
    }
  }
}
