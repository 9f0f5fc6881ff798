/// How one preauthorization went, for metrics and health. Holds no resource and no subject.
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
  /// What kept the decision point from answering; nil when it answered, or was not asked.
  public let trouble: String?

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
    trouble = response.status.map { "\($0.code): \($0.details ?? $0.message)" }
  }

  /// Whether the decision point was asked at all.
  public var asked: Bool { trouble != nil || permits + denies + faults > local + degraded }
}
