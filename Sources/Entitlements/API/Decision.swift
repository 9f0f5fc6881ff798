public import PosternSupport

/// What was decided about one resource. A permit has no error; everything else has one.
public struct Decision: Sendable, Hashable {
  /// Where a decision came from.
  public enum Source: String, Sendable, Hashable, CaseIterable {
    /// The sidecar's memory.
    case local
    /// The decision point, asked for this call.
    case backend
    /// An operator's rule.
    case degradation
  }

  /// The resource as it was asked about.
  public let id: String
  /// Why it is no permit; nil for a permit only.
  public let error: Status?
  /// Where it came from.
  public let source: Source
  /// How old it is.
  public let age: Duration
  /// Until when it is remembered; nil when it is not.
  public let expiresAt: Timestamp?

  /// Whether it is a permit.
  public var isAuthorized: Bool { error == nil }

  init(id: String, error: Status?, source: Source, age: Duration, expiresAt: Timestamp?) {
    self.id = id
    self.error = error
    self.source = source
    self.age = age
    self.expiresAt = expiresAt
  }
}
