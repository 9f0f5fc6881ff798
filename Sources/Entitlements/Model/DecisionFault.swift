import PosternSupport

/// Why there is no decision. Never a deny, and never a permit.
public struct DecisionFault: Error, Sendable, Hashable {
  /// Whether asking again may help.
  public enum Retry: Sendable, Hashable {
    /// It will not.
    case never
    /// It may; nil leaves the pause to the caller.
    case after(Duration?)
  }

  /// What may help for a batch of several resources.
  public enum Remedy: Sendable, Hashable {
    /// Nothing.
    case none
    /// Asking about halves: one of them may be the culprit.
    case split
    /// Asking about fewer at a time, from now on.
    case shrink
  }

  /// What a caller is told.
  public let status: Status
  /// Whether asking again may help.
  public let retry: Retry
  /// What may help for a batch.
  public let remedy: Remedy
  /// Whether it is about the whole request and not about one resource.
  public let isWhole: Bool

  /// A fault of the given parts.
  public init(_ status: Status, retry: Retry = .never, remedy: Remedy = .none, isWhole: Bool = true) {
    self.status = status
    self.retry = retry
    self.remedy = remedy
    self.isWhole = isWhole
  }

  /// The answer makes no sense.
  static func format(_ details: String, remedy: Remedy = .none, trace: String? = nil) -> DecisionFault {
    DecisionFault(.formatUnknown(details, trace: trace), remedy: remedy)
  }

  /// The answer makes no sense for one resource.
  static func item(_ details: String, trace: String? = nil) -> DecisionFault {
    DecisionFault(.formatUnknown(details, trace: trace), isWhole: false)
  }
}
