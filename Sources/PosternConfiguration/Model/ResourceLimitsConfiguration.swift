package import ConfigurationReading
import PosternJSON

/// Concurrency limit and circuit breaker of a resource server, for each of its origins by itself.
public struct ResourceLimitsConfiguration: Sendable, Equatable {
  /// A circuit breaker.
  public struct Breaker: Sendable, Equatable {
    /// After so many failures in a row nothing is sent any more. Default 5.
    public var failures: Int
    /// How long; then one request is sent as a trial. Default 30 seconds.
    public var openFor: Duration
  }

  /// How many requests at a time; nil: any number.
  public var concurrency: Int?
  /// The capacity of the queue: how many may wait for a slot. Default 64.
  public var queue = 64
  /// The circuit breaker; nil: none.
  public var breaker: Breaker?
}

extension ResourceLimitsConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    concurrency = keys.optional(
      "concurrency", .integer(1...65_536), "Requests at a time to each origin of the resource.", example: .shown(16))
    queue = keys.value(
      "queue", .integer(0...65_536), default: 64,
      "Requests that may wait for a slot; slots go to the user with the fewest. More are answered with overloaded.")
    breaker = keys.optionalSection(
      "breaker", Breaker.self, "A circuit breaker: an origin that fails again and again gets no requests for a while.")
    if keys.isGiven("queue"), !keys.isGiven("concurrency") {
      keys.warn("without concurrency nothing ever waits", at: "queue")
    }
  }
}

extension ResourceLimitsConfiguration.Breaker: ConfigurationSection {
  package init(reading keys: SectionReader) {
    failures = keys.value(
      "failures", .integer(1...1000), default: 5,
      "Failures in a row after which the breaker opens: the origin cannot be reached, breaks HTTP, or answers 502, 503 or 504."
    )
    openFor = keys.value(
      "openFor", .duration(.milliseconds(100) ... .seconds(3600)), default: .seconds(30),
      "How long the breaker stays open; then one request is sent as a trial.")
  }
}
