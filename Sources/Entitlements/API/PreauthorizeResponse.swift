/// What came of a preauthorization.
public struct PreauthorizeResponse: Sendable, Hashable {
  /// The two callbacks of the SDK that the method is modelled on.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// The decision point answered, if only with an error.
    case response
    /// The request could not be carried out.
    case failure
  }

  /// Which of the two it is.
  public let outcome: Outcome
  /// One for each resource in the order of the request; empty when `status` says why.
  public let decisions: [Decision]
  /// Why there are no decisions; nil when there are.
  public let status: Status?
  /// What was to be switched off and could not be.
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
}
