import PosternSupport

/// What is remembered in one scope.
struct DecisionShelf: Sendable {
  /// What an entry takes beside its texts.
  private static let overhead = 192

  private(set) var decisions: [ResourceName: KeptDecision] = [:]
  /// What they take.
  private(set) var bytes = 0

  /// What is kept about `resource` and may still be used.
  func fresh(_ resource: ResourceName, at now: MonotonicInstant) -> KeptDecision? {
    decisions[resource].flatMap { $0.isFresh(at: now) ? $0 : nil }
  }

  mutating func keep(_ decision: KeptDecision, about resource: ResourceName) {
    bytes += Self.weight(decision, resource)
    if let former = decisions.updateValue(decision, forKey: resource) { bytes -= Self.weight(former, resource) }
  }

  mutating func remove(_ resource: ResourceName) {
    if let former = decisions.removeValue(forKey: resource) { bytes -= Self.weight(former, resource) }
  }

  mutating func beginRenewal(of resources: [ResourceName]) {
    for resource in resources { decisions[resource]?.renewal = nil }
  }

  private static func weight(_ decision: KeptDecision, _ resource: ResourceName) -> Int {
    var weight = overhead + resource.text.utf8.count
    if case .deny(let status, _) = decision.verdict {
      for text in [status.code, status.action, status.message] { weight += text.utf8.count }
      for text in [status.details, status.helpURL, status.trace] { weight += text?.utf8.count ?? 0 }
    }
    return weight
  }
}
