public import PosternSupport

/// A request for decisions about resources. Immutable: it may be used any number of times.
public struct PreauthorizeRequest: Sendable, Hashable {
  /// A cache that may answer in place of the policy decision point; all are on unless they are switched off.
  public enum Feature: String, Sendable, Hashable, CaseIterable {
    /// The sidecar's own cache.
    case localCache = "LOCAL_CACHE"
    /// The decision point's cache.
    case remoteCache = "REMOTE_CACHE"
  }

  /// The resources: ids or MRSS fragments, in any number and order; duplicates are allowed.
  public let resources: [String]
  /// The caches that are switched off.
  public let disabledFeatures: Set<Feature>

  /// A request about `resources`.
  public init(resources: [String], disabledFeatures: Set<Feature> = []) {
    self.resources = resources
    self.disabledFeatures = disabledFeatures
  }
}

/// The result of a preauthorization.
public struct PreauthorizeResponse: Sendable, Hashable {
  /// The two callbacks of the SDK on which the method is modelled.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// The decision point answered, if only with an error.
    case response
    /// The request could not be carried out.
    case failure
  }

  /// The callback that the SDK would have called.
  public let outcome: Outcome
  /// One decision for each resource, in the order of the request; empty when `status` gives the reason.
  public let decisions: [Decision]
  /// The reason why there are no decisions; nil when there are.
  public let status: Status?
  /// The features that the caller switched off and the decision point cannot do without.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature>

  init(
    outcome: Outcome, decisions: [Decision] = [], status: Status? = nil,
    unhonoredFeatures: Set<PreauthorizeRequest.Feature> = []
  ) {
    self.outcome = outcome
    self.decisions = decisions
    self.status = status
    self.unhonoredFeatures = unhonoredFeatures
  }

  /// The request could not be carried out.
  public static func failure(_ status: Status) -> PreauthorizeResponse {
    PreauthorizeResponse(outcome: .failure, status: status)
  }

  /// The request could not be carried out at `point`.
  public static func failure(_ status: Status, at point: DecisionPoint) -> PreauthorizeResponse {
    failure(point.provider.worded(status))
  }

  /// The same response, with the sidecar's own errors in the words of `provider`.
  func worded(by provider: any DecisionProvider) -> PreauthorizeResponse {
    guard status != nil || decisions.contains(where: { $0.error?.isLocal == true }) else { return self }
    return PreauthorizeResponse(
      outcome: outcome,
      decisions: decisions.map { decision in
        Decision(
          id: decision.id, error: decision.error.map(provider.worded), source: decision.source, age: decision.age,
          expiresAt: decision.expiresAt)
      }, status: status.map(provider.worded), unhonoredFeatures: unhonoredFeatures)
  }
}

/// The decision about one resource. A permit has no error; every other decision has one.
public struct Decision: Sendable, Hashable {
  /// Where a decision came from.
  public enum Source: String, Sendable, Hashable, CaseIterable {
    /// The sidecar's cache.
    case local
    /// The decision point, in a request of this call.
    case backend
    /// An operator's rule.
    case degradation
  }

  /// The resource as the request has it.
  public let id: String
  /// The reason why it is no permit; nil for a permit only.
  public let error: Status?
  /// The source of the decision.
  public let source: Source
  /// The time since the decision point made it.
  public let age: Duration
  /// The end of its life in the cache; nil when it is not cached.
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

extension PreauthorizeRequest: ConciseStringConvertible {
  /// The resources.
  public var description: String { "request for \(Concise.list(resources, of: "resource"))" }
}

extension PreauthorizeResponse: ConciseStringConvertible {
  /// Counts of permits and denials, or the status.
  public var description: String {
    let permits = decisions.count(where: \.isAuthorized)
    return Concise.text(
      outcome.rawValue, Concise.count(permits, "permit"),
      Concise.count(decisions.count - permits, "denial or error", plural: "denials or errors"),
      status.map { "\($0)" })
  }
}

extension Decision: ConciseStringConvertible {
  /// Resource and decision, with the reason of a denial.
  public var description: String {
    Concise.text("\(Concise.name(id)): \(error.map { "no permit, \($0)" } ?? "permit")", "from \(source.rawValue)")
  }
}
