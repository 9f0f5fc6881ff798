public import HTTPMessages
public import PosternSupport

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
