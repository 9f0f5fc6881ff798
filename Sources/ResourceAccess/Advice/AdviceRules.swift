public import HTTPMessages
import OAuthClient
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
  /// Whether advice also counts in a successful response (2xx): as the member `advices` of a JSON body, by its
  /// `Content-Type`, of at most 256 KiB. Not in a body that is delivered in pieces. The request is retried then,
  /// whatever its method: for servers whose success with advice means that nothing was done.
  public var inSuccess: Bool
  /// The statuses of answers that are searched for advice, beside 401, 403 and redirects.
  public var statuses: Set<Int>
  /// Whether advice of any access manager can be satisfied: by the delegate of a program that has set no rules.
  var allowsAnyAccessManager = false

  /// Rules; the defaults are the configuration's.
  public init(
    rounds: Int = 3, wait: Duration = .seconds(180), accessManager: HTTPURL? = nil, allowsAuthorization: Bool = false,
    inSuccess: Bool = false, statuses: Set<Int> = []
  ) {
    self.rounds = rounds
    self.wait = wait
    self.accessManager = accessManager
    self.allowsAuthorization = allowsAuthorization
    self.inSuccess = inSuccess
    self.statuses = statuses
  }

  /// The rules for a policy of a program whose resource server has none.
  static var ofProgram: AdviceRules {
    var rules = AdviceRules(allowsAuthorization: true)
    rules.allowsAnyAccessManager = true
    return rules
  }

  /// Whether an access manager can satisfy advice.
  var allowsAccessManager: Bool { accessManager != nil || allowsAnyAccessManager }

  /// Finds advice in responses where no policy does.
  var recognizer: AdviceRecognizer {
    var recognizer = AdviceRecognizer(scope: .denials, accessManager: accessManager)
    recognizer.inSuccess = inSuccess
    recognizer.statuses = statuses
    return recognizer
  }

  /// Whether all of `advices` can be satisfied: what holds one that cannot is an answer like any other.
  func canSatisfy(_ advices: [PolicyAdvice]) -> Bool {
    !advices.isEmpty
      && advices.allSatisfy { advice in
        advice.type == PolicyAdvice.Name.insufficientUserAuthentication
          ? allowsAuthorization : advice.isCompositeAdvice && allowsAccessManager
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
