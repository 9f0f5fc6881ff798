/// Why a preauthorization, or one resource of it, is not a permit: the enhanced error of the decision point, or the
/// sidecar's own.
///
/// Codes and actions are open sets: unknown ones pass through as they came.
public struct Status: Sendable, Hashable {
  /// The HTTP-style status; 0 when the decision point did not say this.
  public let status: Int
  /// The machine-readable code.
  public let code: String
  /// What is suggested: `none`, `configuration`, `application-registration`, `authentication`, `authorization`,
  /// `degradation`, `retry`, `retry-after`, or another.
  public let action: String
  /// For people.
  public let message: String
  /// The decision point's own words.
  public let details: String?
  /// Where to read more.
  public let helpURL: String?
  /// What support needs to find this answer.
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

  /// Whether the decision point did not say this.
  public var isLocal: Bool { status == 0 }

  /// The same with another suggestion.
  func suggesting(_ action: String) -> Status {
    Status(
      status: status, code: code, action: action, message: message, details: details, helpURL: helpURL, trace: trace)
  }

  /// The same with `trace` where it has none.
  func traced(_ trace: String?) -> Status {
    guard self.trace == nil, let trace else { return self }
    return Status(
      status: status, code: code, action: action, message: message, details: details, helpURL: helpURL, trace: trace)
  }
}
