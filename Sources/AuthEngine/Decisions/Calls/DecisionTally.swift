/// How one preauthorization went, for metrics and health, which everybody sees: holds no resource, no subject and no word of a server's.
public struct DecisionTally: Sendable, Hashable {
  /// How many permits there were.
  public let permits: Int
  /// How many denies.
  public let denies: Int
  /// How many resources are undecided.
  public let faults: Int
  /// How many came out of the memory.
  public let local: Int
  /// How many an operator's rule gave.
  public let degraded: Int
  /// What kept the decision point from answering, for everybody; nil when it answered, or was not asked.
  public let trouble: String?
  /// The sidecar's own explanation of it, for the log.
  public let cause: String?

  /// Codes of the sidecar's whose details quote no server.
  private static let plainCodes: Set<String> = [
    "network_error", "requestor_not_configured", "server_response_format_unknown",
  ]

  init(_ response: PreauthorizeResponse, at point: DecisionPoint) {
    var (permits, denies, faults, local, degraded) = (0, 0, 0, 0, 0)
    for decision in response.decisions {
      if decision.source == .local { local += 1 }
      if decision.source == .degradation { degraded += 1 }
      if decision.isAuthorized {
        permits += 1
      } else if decision.error.map({ $0.isLocal || EnhancedError.isFault($0) }) == true {
        faults += 1
      } else {
        denies += 1
      }
    }
    self.permits = permits
    self.denies = denies
    self.faults = faults
    self.local = local
    self.degraded = degraded
    trouble = response.status.map(Self.trouble)
    cause = response.status.flatMap { $0.isLocal ? $0.details : nil }
  }

  /// What of `status` anybody may see: what the decision point says was said to one user, about that user.
  private static func trouble(_ status: Status) -> String {
    guard !status.isLocal else {
      return "\(status.code): \((plainCodes.contains(status.code) ? status.details : nil) ?? status.message)"
    }
    let code = EnhancedErrorTable[status.code] == nil ? "an error with a code of its own" : status.code
    return "\(code), status \(status.status)"
  }

  /// Whether the decision point was asked at all.
  public var asked: Bool { trouble != nil || permits + denies + faults > local + degraded }
}
