import PosternJSON

/// How much a resource server is asked at a time, and when it is left alone; for each of its origins by itself.
public struct ResourceLimitsConfiguration: Sendable, Equatable {
  /// A circuit breaker.
  public struct Breaker: Sendable, Equatable {
    /// After so many failures in a row nothing is sent any more. Default 5.
    public var failures: Int
    /// For so long; then one request is sent to see. Default 30 seconds.
    public var openFor: Duration

    /// A breaker.
    public init(failures: Int, openFor: Duration) {
      self.failures = failures
      self.openFor = openFor
    }
  }

  /// How many requests at a time; nil: any number.
  public var concurrency: Int?
  /// How many may wait for a place. Default 64.
  public var queue: Int
  /// When the server is left alone; nil: never.
  public var breaker: Breaker?

  /// Limits.
  public init(concurrency: Int? = nil, queue: Int = 64, breaker: Breaker? = nil) {
    self.concurrency = concurrency
    self.queue = queue
    self.breaker = breaker
  }
}

extension ResourceLimitsConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    concurrency = keys.optional(
      "concurrency", .integer(1...65_536), "Requests at a time to each origin of the resource.", example: .shown(16))
    queue = keys.value(
      "queue", .integer(0...65_536), default: 64,
      "Requests that may wait for a place, the first one first; more are answered with overloaded.")
    breaker = keys.optionalSection(
      "breaker", Breaker.self, "A circuit breaker: an origin that fails again and again is left alone for a while.")
    if keys.isGiven("queue"), !keys.isGiven("concurrency") {
      keys.warn("without concurrency nothing ever waits", at: "queue")
    }
  }
}

extension ResourceLimitsConfiguration.Breaker: ConfigurationSection {
  init(reading keys: SectionReader) {
    failures = keys.value(
      "failures", .integer(1...1000), default: 5,
      "Failures in a row, until the origin is left alone: it cannot be reached, breaks HTTP, or answers 502, 503 or 504."
    )
    openFor = keys.value(
      "openFor", .duration(.milliseconds(100) ... .seconds(3600)), default: .seconds(30),
      "How long it is left alone; then one request is sent to see.")
  }
}
