public import HTTPMessages
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

/// The state of one origin of a resource with limits.
public struct OriginState: Sendable, Hashable, ConciseStringConvertible {
  /// The state of its circuit breaker.
  public enum Circuit: String, Sendable, Hashable, CaseIterable {
    /// Requests go through.
    case closed
    /// One request is sent as a probe.
    case halfOpen
    /// None goes through.
    case open
  }

  /// The resource's name.
  public let resource: String
  /// The origin.
  public let origin: HTTPURL.Origin
  /// How many requests are in flight.
  public let inFlight: Int
  /// How many wait for a slot.
  public let waiting: Int
  /// The state of its circuit breaker.
  public let circuit: Circuit
  /// Resource, origin and counts.
  public var description: String {
    "\(Concise.name(resource)) at \(Concise.name("\(origin)")), \(inFlight) in flight, \(waiting) waiting, \(circuit)"
  }

  /// A state of the given parts.
  public init(resource: String, origin: HTTPURL.Origin, inFlight: Int = 0, waiting: Int = 0, circuit: Circuit = .closed)
  {
    self.resource = resource
    self.origin = origin
    self.inFlight = inFlight
    self.waiting = waiting
    self.circuit = circuit
  }
}
