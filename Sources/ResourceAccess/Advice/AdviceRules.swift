import AccessManagement
public import HTTPMessages
public import PosternSupport

/// How policy advice of a resource server's answers is dealt with.
public struct AdviceRules: Sendable, Hashable {
  /// How many times in one fetch advice is satisfied.
  public var rounds: Int
  /// How long that may take, each time.
  public var wait: Duration
  /// The access manager whose policies there may be; nil: none.
  public var accessManager: HTTPURL?
  /// Whether a user can be sent to a new login (RFC 9470).
  public var allowsAuthorization: Bool

  /// Rules; the defaults are the configuration's.
  public init(
    rounds: Int = 3, wait: Duration = .seconds(180), accessManager: HTTPURL? = nil, allowsAuthorization: Bool = false
  ) {
    self.rounds = rounds
    self.wait = wait
    self.accessManager = accessManager
    self.allowsAuthorization = allowsAuthorization
  }

  /// Whether all of `advices` can be satisfied: what holds one that cannot is an answer like any other.
  func canSatisfy(_ advices: [PolicyAdvice]) -> Bool {
    !advices.isEmpty
      && advices.allSatisfy { advice in
        advice.type == PolicyAdvice.Name.insufficientUserAuthentication
          ? allowsAuthorization : advice.isCompositeAdvice && accessManager != nil
      }
  }
}

extension AdviceRules: ConciseStringConvertible {
  /// Rounds and access manager.
  public var description: String {
    Concise.text(
      "at most \(Concise.count(rounds, "round")) of advice", accessManager.map { "of \($0.shown)" })
  }
}
