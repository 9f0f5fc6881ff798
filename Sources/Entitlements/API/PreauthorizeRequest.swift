/// What to ask a decision point about. Immutable: may be used any number of times.
public struct PreauthorizeRequest: Sendable, Hashable {
  /// What may answer instead of whoever decides; all are on unless they are switched off.
  public enum Feature: String, Sendable, Hashable, CaseIterable {
    /// The sidecar's own memory.
    case localCache = "LOCAL_CACHE"
    /// What the decision point remembers.
    case remoteCache = "REMOTE_CACHE"
  }

  /// The resources: ids or MRSS fragments, in any number and order, also repeated.
  public let resources: [String]
  /// What is switched off.
  public let disabledFeatures: Set<Feature>

  /// A request about `resources`.
  public init(resources: [String], disabledFeatures: Set<Feature> = []) {
    self.resources = resources
    self.disabledFeatures = disabledFeatures
  }
}
