import PosternSupport

/// A configured decision point: how it is asked, how long its word is kept, and what was learnt of it meanwhile.
///
/// What is learnt is behind a lock. Another configuration makes another decision point: nothing kept for the one
/// answers for the other.
public final class DecisionPoint: Sendable {
  /// How a decision point is asked.
  public struct Settings: Sendable {
    /// The name of the issuer whose sessions are the subjects; nil: callers name them.
    public var issuer: String?
    /// What of a session's claims is told.
    public var subjectClaims: [String] = []
    /// The action that is asked about.
    public var action = "view"
    /// How many resources go into one request.
    public var maxBatch = 50
    /// How long one request may take.
    public var timeout = Duration.seconds(5)
    /// How often something retryable is tried, the first time included.
    public var attempts = 3
    /// How fast requests go out; nil: as they come.
    public var pace: DecisionPace?
    /// How long a permit is kept at most.
    public var permitLifetime = Duration.seconds(60)
    /// How long a genuine deny is kept at most.
    public var denyLifetime = Duration.zero
    /// Whose token goes along.
    public var credential = DecisionCredential.none
    /// The operator's word in place of the decision point's; nil: none.
    public var degradation: DecisionDegradation?
    /// Whether `http` is accepted on loopback addresses.
    public var allowsPlainHTTPOnLoopback = false

    /// The defaults.
    public init() {}
  }

  /// What a uid was told.
  private struct Learnt: Sendable {
    let limit: Int
    let until: MonotonicInstant
  }

  private static let revisions = Locked<UInt64>(0)
  /// For how long it is believed.
  private static let learntLife = Duration.seconds(3600)
  /// How many requests of one call may be under way.
  static let parallelism = 4

  /// The name in the configuration.
  public let name: String
  /// How it is asked.
  public let settings: Settings
  /// What it speaks.
  public let provider: any DecisionProvider
  /// Unique in this process.
  let revision: UInt64
  /// By uid: what one user is told may be about that user alone.
  private let learnt = Locked(BoundedCache<UInt32, Learnt>(capacity: 1024))

  /// A decision point that `provider` speaks with.
  public init(name: String, settings: Settings, provider: any DecisionProvider) {
    self.name = name
    self.settings = settings
    self.provider = provider
    revision = Self.revisions.withLock { revision in
      revision += 1
      return revision
    }
  }

  /// Whether a subject is needed: not where the decision point knows the user by other means.
  public var needsSubject: Bool { provider.needsSubject }

  /// How many resources go into one request of `owner`, as far as is known now.
  func batchLimit(for owner: UInt32, at now: MonotonicInstant) -> Int {
    learnt.withLock { limit($0[owner], at: now) }
  }

  /// That many of `owner` were too many.
  func learn(tooMany count: Int, for owner: UInt32, at now: MonotonicInstant) {
    learnt.withLock { learnt in
      let fewer = min(limit(learnt[owner], at: now), max(1, count / 2))
      learnt[owner] = Learnt(limit: fewer, until: now + Self.learntLife)
    }
  }

  private func limit(_ learnt: Learnt?, at now: MonotonicInstant) -> Int {
    guard let learnt, learnt.until > now else { return max(1, settings.maxBatch) }
    return learnt.limit
  }

  /// How long a call may take that does not say.
  var budget: Duration { settings.timeout * settings.attempts }
}
