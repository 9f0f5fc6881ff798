public import OAuthClient
public import PosternSupport
public import Sessions

/// Where a fetch stopped: at which advice, with which answer, after what.
public struct AdviceStop: Sendable, ConciseStringConvertible {
  /// The advices that are required.
  public let advices: [PolicyAdvice]
  /// The response that had the advice; nil: the issuer issued no token, and no request was sent.
  public let response: ResourceResponse?
  /// How far the fetch had come.
  public let progress: AdviceProgress
  /// The session that is to be stepped up.
  public internal(set) var session: SessionHandle?
  /// The continuation that resumes it; nil: it cannot be resumed.
  public internal(set) var continuation: String?
  /// The advice: never the continuation.
  public var description: String { Concise.text(Concise.list(advices.map(\.type), of: "advice"), "\(progress)") }

  /// The advice to satisfy first: a transaction comes last.
  public var first: PolicyAdvice? { advices.first { !$0.isTransaction } ?? advices.first }
}

/// The advice that a fetch has met so far. A fetch that is resumed continues with it.
public struct AdviceProgress: Sendable, ConciseStringConvertible {
  /// How many times advice was there.
  public internal(set) var rounds = 0
  /// The advices that were satisfied.
  public internal(set) var satisfied: [PolicyAdvice] = []
  /// The advices that are being satisfied.
  public internal(set) var pending: [PolicyAdvice] = []
  /// Whether that is for the token, and not for the request: the resource hears nothing of it.
  var isForToken = false
  /// Transactions that have been used: each is good once.
  var transactions: Set<String> = []
  /// The counts.
  public var description: String {
    "\(Concise.count(rounds, "round")), \(satisfied.count) satisfied, \(pending.count) pending"
  }

  /// A fetch that has seen none.
  public init() {}

  /// The transaction to name to the gateway.
  var txId: String? { pending.lazy.compactMap(\.txId).first }

  /// Notes that `advices` are required: one that is required again was not satisfied, and there is one transaction at a
  /// time. False when there are too many rounds, or a transaction is required again.
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
