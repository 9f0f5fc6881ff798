public import HTTPMessages
public import OAuthClient
public import PosternSupport

/// A configured policy decision point: its settings, its protocol, and what it has revealed of its limits.
///
/// What is learnt of it is behind a lock. A changed configuration makes another decision point: no decision cached for
/// the one is used for the other.
public final class DecisionPoint: Sendable {
  /// The settings of a decision point.
  public struct Settings: Sendable {
    /// The name of the issuer whose sessions are the subjects; nil when callers name the subjects.
    public var issuer: String?
    /// The claims of a session that are sent along.
    public var subjectClaims: [String] = []
    /// The action to decide about.
    public var action = "view"
    /// The maximum number of resources in one request.
    public var maxBatch = 50
    /// The timeout of one request.
    public var timeout = Duration.seconds(5)
    /// The number of attempts, the first included.
    public var attempts = 3
    /// The rate limit of requests; nil for none.
    public var rateLimit: DecisionRateLimiter?
    /// How its servers are reached.
    public var access = ServerAccess()
    /// The longest time for which a permit is cached.
    public var permitLifetime = Duration.seconds(60)
    /// The longest time for which a deny is cached.
    public var denyLifetime = Duration.zero
    /// The credential of requests.
    public var credential = DecisionCredential.none
    /// The operator's rule in place of the decision point's answers; nil for none.
    public var degradation: DecisionDegradation?

    /// The defaults.
    public init() {}

    /// The timeout of a call that gives none.
    var budget: Duration { timeout * attempts }
  }

  /// A limit that a uid's requests have met.
  private struct Learnt: Sendable {
    let limit: Int
    let until: MonotonicInstant
  }

  private static let revisions = Locked<UInt64>(0)
  /// The time for which a learnt limit is applied.
  private static let learntLife = Duration.seconds(3600)
  /// The number of requests of one call that may run at once.
  static let parallelism = 4

  /// The name in the configuration.
  public let name: String
  /// The settings.
  public let settings: Settings
  /// The protocol of the decision point.
  public let provider: any DecisionProvider
  /// Unique in this process.
  let revision: UInt64
  /// By uid: a limit met by one user may be about that user alone.
  private let learnt = Locked(BoundedCache<UInt32, Learnt>(capacity: 1024))

  /// A decision point with the protocol `provider`.
  public init(name: String, settings: Settings, provider: any DecisionProvider) {
    self.name = name
    self.settings = settings
    self.provider = provider
    revision = Self.revisions.withLock { revision in
      revision += 1
      return revision
    }
  }

  /// Whether a subject is needed; it is not where the decision point identifies the user by other means.
  public var needsSubject: Bool { provider.needsSubject }

  /// Returns the maximum number of resources in one request of `uid`, as far as it is known.
  func batchLimit(for uid: UInt32, at now: MonotonicInstant) -> Int {
    learnt.withLock { limit($0[uid], at: now) }
  }

  /// Learns that a request of `uid` with that many resources was too large.
  func learn(tooMany count: Int, for uid: UInt32, at now: MonotonicInstant) {
    learnt.withLock { learnt in
      let fewer = min(limit(learnt[uid], at: now), max(1, count / 2))
      learnt[uid] = Learnt(limit: fewer, until: now + Self.learntLife)
    }
  }

  private func limit(_ learnt: Learnt?, at now: MonotonicInstant) -> Int {
    guard let learnt, learnt.until > now else { return max(1, settings.maxBatch) }
    return learnt.limit
  }
}

/// The credential of requests to a decision point.
public enum DecisionCredential: Sendable {
  /// None.
  case none
  /// A fixed bearer token.
  case token(Secret<String>)
  /// A token from the client credentials grant.
  case clientCredentials(ClientCredentialsGrant)
  /// The session's access token.
  case user
}

/// An operator's temporary rule in place of a decision point.
public struct DecisionDegradation: Sendable, Hashable {
  /// Whether it permits everything, or denies everything.
  public let isPermit: Bool
  /// The time at which the rule ends by itself.
  public let until: Timestamp

  /// A rule that ends at `until`.
  public init(isPermit: Bool, until: Timestamp) {
    self.isPermit = isPermit
    self.until = until
  }

  /// Whether it is in force at `now`.
  public func isActive(at now: Timestamp) -> Bool { until > now }

  /// Returns the rule's response: the decision point is not queried, and nothing is cached.
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

extension DecisionPoint: ConciseStringConvertible {
  /// The name.
  public var description: String { "decision point \(Concise.name(name))" }
}

extension DecisionPoint.Settings: ConciseStringConvertible {
  /// Issuer, action and credential.
  public var description: String {
    Concise.text("action \(Concise.name(action))", issuer.map { "issuer \(Concise.name($0))" }, "\(credential)")
  }
}

extension DecisionCredential: ConciseStringConvertible {
  /// The kind: never a token.
  public var description: String {
    switch self {
    case .none: "no credential"
    case .token: "a fixed token"
    case .clientCredentials(let grant): "\(grant)"
    case .user: "the user's token"
    }
  }
}

extension DecisionDegradation: ConciseStringConvertible {
  /// The decision, and its end.
  public var description: String { "\(isPermit ? "permit" : "deny") until \(until)" }
}
