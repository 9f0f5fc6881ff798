public import AccessManagement
public import Sessions

/// Where a fetch stopped: at which advice, with which answer, after what.
public struct AdviceStop: Sendable {
  /// What is asked for.
  public let advices: [PolicyAdvice]
  /// The answer as it stood; nil: it was the token that could not be had, and no request had been sent.
  public let response: ResourceResponse?
  /// How far the fetch had come.
  public let progress: AdviceProgress
  /// The session that is to be stepped up.
  public internal(set) var session: SessionHandle?
  /// By what it can be resumed; nil: it cannot.
  public internal(set) var continuation: String?

  /// The advice to satisfy first: a transaction comes last.
  public var first: PolicyAdvice? { advices.first { !$0.isTransaction } ?? advices.first }
}

/// What a fetch has seen of advice. A fetch that is resumed goes on with it.
public struct AdviceProgress: Sendable {
  /// How many times advice was there.
  public internal(set) var rounds = 0
  /// What was satisfied.
  public internal(set) var satisfied: [PolicyAdvice] = []
  /// What is being satisfied.
  public internal(set) var pending: [PolicyAdvice] = []
  /// Whether that is for the token, and not for the request: the resource hears nothing of it.
  var isForToken = false
  /// Transactions that have been used: each is good once.
  var transactions: Set<String> = []

  /// A fetch that has seen none.
  public init() {}

  /// The transaction to name to the gateway.
  var txId: String? { pending.lazy.compactMap(\.txId).first }

  /// Notes that `advices` are asked for: what comes again was not satisfied, and of transactions there is one at a
  /// time. False when that goes on for too long, or a transaction comes again.
  mutating func begin(_ advices: [PolicyAdvice], forToken: Bool, atMost limit: Int) -> Bool {
    pending = advices
    // The token's transaction is not the resource's.
    let isTransactional = !forToken && !isForToken && advices.contains(where: \.isTransaction)
    isForToken = forToken
    satisfied.removeAll { advices.contains($0) || isTransactional && $0.isTransaction }
    guard rounds < limit, !advices.contains(where: { $0.txId.map(transactions.contains) ?? false }) else {
      return false
    }
    rounds += 1
    return true
  }

  /// Notes that they are satisfied, as far as anybody but the resource can tell.
  mutating func end() {
    satisfied += pending
    transactions.formUnion(pending.compactMap(\.txId))
    pending = []
  }
}
