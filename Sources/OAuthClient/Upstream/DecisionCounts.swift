/// How one preauthorization went, for metrics and health, which everybody sees: holds no resource, no subject and no
/// word of a server's.
public struct DecisionCounts: Sendable, Hashable {
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
  /// What kept the decision point from answering, for everybody; nil when it answered, or was not queried.
  public let trouble: String?
  /// The sidecar's own explanation of it, for the log.
  public let cause: String?

  package init(
    permits: Int, denies: Int, faults: Int, local: Int, degraded: Int, trouble: String?, cause: String?
  ) {
    self.permits = permits
    self.denies = denies
    self.faults = faults
    self.local = local
    self.degraded = degraded
    self.trouble = trouble
    self.cause = cause
  }

  /// Whether the decision point was queried at all.
  public var asked: Bool { trouble != nil || permits + denies + faults > local + degraded }
}
