/// The concurrency limit and circuit breaker of a resource, applied to each of its origins.
public struct OriginLimits: Sendable, Hashable {
  /// A circuit breaker: requests to an origin that fails again and again are rejected for a while.
  public struct Breaker: Sendable, Hashable {
    /// After so many failures in a row.
    public var failures: Int
    /// For so long; then one request is sent as a probe.
    public var openFor: Duration

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

  /// Limits of the given parts.
  public init(concurrency: Int? = nil, queue: Int = 0, breaker: Breaker? = nil, patience: Duration? = nil) {
    self.concurrency = concurrency
    self.queue = queue
    self.breaker = breaker
    self.patience = patience
  }
}
