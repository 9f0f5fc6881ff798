public import PosternJSON

/// One question to a decision point: about several resources at once, each once.
public struct DecisionBatch: Sendable {
  /// Who it is about.
  public let subject: DecisionSubject
  /// What the subject wants to do.
  public let action: String
  /// What the caller adds.
  public let context: JSONObject
  /// Whether the decision point is not to answer out of what it remembers.
  public let bypassesRemoteCache: Bool
  /// What it is about.
  public var resources: [ResourceName]

  /// A question of the given parts.
  public init(
    subject: DecisionSubject, action: String, context: JSONObject = JSONObject(), bypassesRemoteCache: Bool = false,
    resources: [ResourceName]
  ) {
    self.subject = subject
    self.action = action
    self.context = context
    self.bypassesRemoteCache = bypassesRemoteCache
    self.resources = resources
  }
}
