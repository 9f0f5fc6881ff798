public import PosternSupport

/// What an operator says in place of a decision point, for a while.
public struct DecisionDegradation: Sendable, Hashable {
  /// Whether everything is permitted, or nothing.
  public let isPermit: Bool
  /// When the rule ends by itself.
  public let until: Timestamp

  /// A rule that ends at `until`.
  public init(isPermit: Bool, until: Timestamp) {
    self.isPermit = isPermit
    self.until = until
  }

  /// Whether it is in force at `now`.
  public func isActive(at now: Timestamp) -> Bool { until > now }

  /// Its answer: the decision point is not asked, and nothing is remembered.
  func response(to request: PreauthorizeRequest) -> PreauthorizeResponse {
    let error =
      isPermit
      ? nil
      : Status(
        status: 403, code: "authorization_denied_by_degradation_rule", action: "none",
        message: "Access is denied for now, by a rule of the operator.")
    return PreauthorizeResponse(
      outcome: .response,
      decisions: request.resources.map {
        Decision(id: $0, error: error, source: .degradation, age: .zero, expiresAt: nil)
      })
  }
}
