/// How much a resource server is asked at a time, and when it is left alone: for each of its origins by itself.
public struct OriginLimits: Sendable, Hashable {
  /// A circuit breaker: an origin that fails again and again is left alone for a while.
  public struct Breaker: Sendable, Hashable {
    /// After so many failures in a row.
    public var failures: Int
    /// For so long; then one request is let through to see.
    public var openFor: Duration

    /// A breaker of the given parts.
    public init(failures: Int, openFor: Duration) {
      self.failures = max(1, failures)
      self.openFor = openFor
    }
  }

  /// How many requests at a time; nil: any number.
  public var concurrency: Int?
  /// How many may wait for a place; further ones are refused.
  public var queue: Int
  /// When the origin is left alone; nil: never.
  public var breaker: Breaker?
  /// How long one whose user has no request there waits for what others hold; then it goes beside them. nil: until they
  /// are done.
  public var patience: Duration?

  /// Limits of the given parts.
  public init(concurrency: Int? = nil, queue: Int = 0, breaker: Breaker? = nil, patience: Duration? = nil) {
    self.concurrency = concurrency
    self.queue = queue
    self.breaker = breaker
    self.patience = patience
  }
}
