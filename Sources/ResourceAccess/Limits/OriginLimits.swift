public import PosternSupport

/// The concurrency limit and circuit breaker of a resource, applied to each of its origins.
public struct OriginLimits: Sendable, Hashable, ConciseStringConvertible {
  /// A circuit breaker: requests to an origin that fails again and again are rejected for a while.
  public struct Breaker: Sendable, Hashable, ConciseStringConvertible {
    /// After so many failures in a row.
    public var failures: Int
    /// For so long; then one request is sent as a probe.
    public var openFor: Duration
    /// When it opens, and for how long.
    public var description: String { "breaker open for \(openFor) after \(Concise.count(failures, "failure"))" }

    /// A breaker of the given parts.
    public init(failures: Int, openFor: Duration) {
      self.failures = max(1, failures)
      self.openFor = openFor
    }
  }

  /// How many requests at a time; nil: any number.
  public var concurrency: Int?
  /// How many may wait for a slot; further ones are rejected.
  public var queue: Int
  /// When requests are rejected; nil: never.
  public var breaker: Breaker?
  /// How long a request of a uid without a slot waits for slots that others use; then it is sent in addition to theirs.
  /// nil: until a slot is free.
  public var patience: Duration?
  /// The limits.
  public var description: String {
    Concise.text(
      concurrency.map { "at most \($0) at a time" } ?? "no limit", Concise.count(queue, "waiting request"),
      breaker.map { "\($0)" })
  }

  /// Limits of the given parts.
  public init(concurrency: Int? = nil, queue: Int = 0, breaker: Breaker? = nil, patience: Duration? = nil) {
    self.concurrency = concurrency
    self.queue = queue
    self.breaker = breaker
    self.patience = patience
  }
}
