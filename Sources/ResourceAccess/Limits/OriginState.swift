public import HTTPMessages

/// How one origin of a resource with limits stands.
public struct OriginState: Sendable, Hashable {
  /// Where its breaker stands.
  public enum Circuit: String, Sendable, Hashable, CaseIterable {
    /// Requests go through.
    case closed
    /// One request is let through to see.
    case halfOpen
    /// None goes through.
    case open
  }

  /// The resource's name.
  public let resource: String
  /// The origin.
  public let origin: HTTPURL.Origin
  /// How many requests are on their way.
  public let inFlight: Int
  /// How many wait for a place.
  public let waiting: Int
  /// Where its breaker stands.
  public let circuit: Circuit

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
