import PosternSupport

/// What a decision point says about one resource. A deny and a fault stay different all the way.
public enum DecisionVerdict: Sendable, Hashable {
  /// Yes; `lifetime` is how long the decision point says that holds.
  case permit(lifetime: Duration?)
  /// No, for that reason.
  indirect case deny(Status, lifetime: Duration?)
  /// An operator's rule at the decision point said so, in place of whoever decides: nil is yes. Never remembered.
  indirect case degraded(Status?)
  /// Neither: there is no decision.
  indirect case fault(DecisionFault)

  /// Whether it is a decision, of whatever kind.
  var isDecided: Bool { if case .fault = self { false } else { true } }
}
