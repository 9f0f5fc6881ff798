import HTTPMessages
import JOSE
public import PosternSupport

/// The state of one published key set: the current set, its times, and the last error. A pure state machine:
/// `RemoteJWKSet` has it behind a lock and acts on its results outside of the lock.
struct KeySetState: Sendable {
  /// A set that was fetched.
  struct FetchedSet: Sendable {
    let keys: JWKSet
    let thumbprints: Set<String>
    /// The URL it came from; another URL has other entity tags.
    let url: HTTPURL
    let entityTag: String?
    let sequence: UInt64
    /// The attempt that fetched or last confirmed it; results of older attempts are dropped.
    var attempt: UInt64
    var fetchedAt: MonotonicInstant
    var refreshAt: MonotonicInstant
    var expiresAt: MonotonicInstant
  }

  /// The result of a look-up.
  enum Reading: Sendable {
    case serve(KeySetSnapshot)
    /// Serve this set, and start a refresh in the background; `refreshEnded` must follow.
    case serveAndRefresh(KeySetSnapshot)
    /// There is no set; a request has to be made first.
    case fetch
    case fail(KeySetError)
  }

  /// The changes by an answer.
  struct Change: Sendable {
    let keyCount: Int
    let added: [String]
    let removed: [String]
    var isRotation: Bool { !added.isEmpty || !removed.isEmpty }
  }

  let policy: KeySetPolicy
  private(set) var current: FetchedSet?
  private(set) var lastError: KeySetError?
  private var failedAt: MonotonicInstant?
  private var backoff = Backoff(first: .seconds(1), longest: KeySetState.maxRetryInterval)
  /// The time until which the server wants no request.
  private var requestedRetryAt: MonotonicInstant?
  /// The time of each user's latest refetch for an unknown `kid`, until the cool-down is over: each user has a
  /// cool-down of their own, so that no user keeps another's new key from being found.
  private var refetches: [UInt32: MonotonicInstant] = [:]
  private var isRefreshing = false

  init(policy: KeySetPolicy) { self.policy = policy }

  /// Returns the set as callers see it; nil when there is none within its lifetime or the bound of stale-if-error.
  func snapshot(at now: MonotonicInstant) -> KeySetSnapshot? {
    guard let current, now < current.expiresAt + policy.staleIfError else { return nil }
    return KeySetSnapshot(
      keys: current.keys, sequence: current.sequence, fetchedAt: current.fetchedAt, isStale: current.expiresAt <= now)
  }

  /// Decides what a caller that needs keys gets.
  mutating func read(at now: MonotonicInstant) -> Reading {
    guard let current, let snapshot = snapshot(at: now) else {
      if isWaiting(at: now), let error = reportedError(at: now) { return .fail(error) }
      return .fetch
    }
    // An expired set replaces one that could not be fetched, and not one for which no request was made.
    guard !snapshot.isStale || isWaiting(at: now) || failedAt.map({ $0 >= current.expiresAt }) == true else {
      return .fetch
    }
    guard current.refreshAt <= now, !isRefreshing, !isWaiting(at: now) else { return .serve(snapshot) }
    isRefreshing = true
    return .serveAndRefresh(snapshot)
  }

  /// Looks again when a load starts: the one before it may have ended since the caller looked. Nil when the request is
  /// to be made.
  func settled(at now: MonotonicInstant) -> Result<KeySetSnapshot, KeySetError>? {
    if let snapshot = settledSet(at: now) { return .success(snapshot) }
    guard isWaiting(at: now), let error = reportedError(at: now) else { return nil }
    return snapshot(at: now).map { .success($0) } ?? .failure(error)
  }

  /// Returns the set as long as it is not due for a refresh.
  func settledSet(at now: MonotonicInstant) -> KeySetSnapshot? {
    guard let current, now < current.refreshAt else { return nil }
    return snapshot(at: now)
  }

  /// Ends the background refresh that `read` started, whatever its result.
  mutating func refreshEnded() { isRefreshing = false }

  /// Returns the last error, with how long no load makes a request; nil when the last attempt succeeded.
  func reportedError(at now: MonotonicInstant) -> KeySetError? {
    lastError?.waiting(backoff.end.flatMap { now < $0 ? $0 - now : nil })
  }

  /// Whether a refetch for an unknown `kid` may be made for `uid`: the cool-down is over, and the server accepts
  /// requests.
  func allowsRefetch(at now: MonotonicInstant, for uid: UInt32) -> Bool {
    refetchAt(for: uid).map { $0 <= now } ?? true
  }

  /// Returns the last error, with how long neither a refetch nor a load makes a request; nil when the last attempt
  /// succeeded.
  func keyError(at now: MonotonicInstant, for uid: UInt32) -> KeySetError? {
    let loadAt = [current?.refreshAt, backoff.end].compactMap(\.self).max()
    let next = [refetchAt(for: uid), loadAt].compactMap(\.self).min()
    return lastError?.waiting(next.flatMap { now < $0 ? $0 - now : nil })
  }

  private func refetchAt(for uid: UInt32) -> MonotonicInstant? {
    [refetches[uid].map { $0 + policy.cooldown }, requestedRetryAt].compactMap(\.self).max()
  }

  /// Starts the cool-down of `uid`; to be called before the attempt, so that a failing one counts too.
  mutating func stampRefetch(at now: MonotonicInstant, for uid: UInt32) {
    refetches = refetches.filter { now < $0.value + policy.cooldown }
    refetches[uid] = now
  }

  /// Returns the entity tag to send to `url`.
  func entityTag(for url: HTTPURL) -> String? { current.flatMap { $0.url == url ? $0.entityTag : nil } }

  /// Takes the answer from `url` to `attempt`, which started at `sentAt` and ended at `now`; nil when a younger attempt
  /// was faster, and when the server confirmed a set that is no longer the current one.
  mutating func take(
    _ answer: KeySetRequest.Answer, from url: HTTPURL, attempt: UInt64, sentAt: MonotonicInstant,
    at now: MonotonicInstant
  ) -> Change? {
    if let current, attempt < current.attempt { return nil }
    switch answer {
    case .keys(let keys, let entityTag, let ttl):
      let thumbprints = Set(keys.keys.compactMap(\.thumbprint))
      let old = current?.thumbprints ?? thumbprints
      current = FetchedSet(
        keys: keys, thumbprints: thumbprints, url: url, entityTag: entityTag, sequence: attempt, attempt: attempt,
        fetchedAt: sentAt, refreshAt: now, expiresAt: now)
      setTimes(ttl.map { $0 - (now - sentAt) }, from: now)
      return Change(
        keyCount: keys.keys.count, added: thumbprints.subtracting(old).sorted(),
        removed: old.subtracting(thumbprints).sorted())
    case .notModified(let entityTag, let ttl):
      guard let current, current.url == url, current.entityTag == entityTag else { return nil }
      self.current?.attempt = attempt
      self.current?.fetchedAt = sentAt
      setTimes(ttl.map { $0 - (now - sentAt) }, from: now)
      return Change(keyCount: current.keys.keys.count, added: [], removed: [])
    }
  }

  /// Records that `attempt` failed, unless a younger one has succeeded meanwhile. The current set remains. False when
  /// it was too late to matter.
  @discardableResult
  mutating func fail(_ error: KeySetError, attempt: UInt64, at now: MonotonicInstant) -> Bool {
    if let current, attempt < current.attempt { return false }
    lastError = error
    failedAt = now
    let retryAfter = error.retryAfter.map { min($0, Self.maxRetryInterval) }
    requestedRetryAt = retryAfter.map { now + $0 }
    backoff.fail(at: now, retryAfter: retryAfter)
    return true
  }

  /// The longest delay between requests to a failing server, after delays of 1, 2, 4, 8 and 16 seconds; where the
  /// server requests a longer one, this is the upper bound.
  static let maxRetryInterval: Duration = .seconds(30)

  private func isWaiting(at now: MonotonicInstant) -> Bool { !backoff.isOver(at: now) }

  /// The last fifth of the lifetime, five minutes at most, is for refreshing ahead.
  private mutating func setTimes(_ ttl: Duration?, from now: MonotonicInstant) {
    let lifetime = policy.lifetime(ttl)
    current?.expiresAt = now + lifetime
    current?.refreshAt = now + (lifetime - min(lifetime / 5, .seconds(300)))
    lastError = nil
    failedAt = nil
    backoff.succeed()
    requestedRetryAt = nil
  }
}

/// The lifetimes of a published key set, and the rate of requests for it.
public struct KeySetPolicy: Sendable, Hashable {
  /// The lifetime of a set whose response gives none.
  static let defaultTTL: Duration = .seconds(300)

  /// The shortest lifetime, whatever the response allows: bounds the load on the issuer.
  public let minTTL: Duration
  /// The longest lifetime, whatever the response allows: bounds how long a withdrawn key is trusted.
  public let maxTTL: Duration
  /// The time between two refetches for an unknown `kid`, whatever their results.
  public let cooldown: Duration
  /// The time for which an expired set is used while no newer one is available.
  public let staleIfError: Duration

  /// A policy; `minTTL` is at least a second, `maxTTL` at least `minTTL`, and negative durations count as zero.
  public init(
    minTTL: Duration = .seconds(60), maxTTL: Duration = .seconds(86_400), cooldown: Duration = .seconds(30),
    staleIfError: Duration = .seconds(3600)
  ) {
    self.minTTL = max(.seconds(1), minTTL)
    self.maxTTL = max(self.minTTL, maxTTL)
    self.cooldown = max(.zero, cooldown)
    self.staleIfError = max(.zero, staleIfError)
  }

  /// Returns the lifetime to use where the response allows `ttl`; nil when it gives none.
  func lifetime(_ ttl: Duration?) -> Duration { min(max(ttl ?? Self.defaultTTL, minTTL), maxTTL) }
}

/// The age of an issuer's key set, for health.
public struct KeySetAge: Sendable {
  /// The issuer's name in the configuration.
  public let issuer: String
  /// The time since the request that confirmed the set; nil when there is none.
  public let age: Duration?
  /// The number of usable keys.
  public let keyCount: Int
  /// Whether it has expired. By itself that is no fault: an issuer's keys are fetched only when they are needed.
  public let isExpired: Bool
  /// Whether it may still be used: within its lifetime, or within the bound of stale-if-error.
  public let isUsable: Bool
  /// The error of the last request; nil when it succeeded.
  public let lastError: KeySetError?
}

extension KeySetPolicy: ConciseStringConvertible {
  /// The times.
  public var description: String {
    "fresh for \(minTTL) to \(maxTTL), cool-down \(cooldown), stale for \(staleIfError) after an error"
  }
}

extension KeySetAge: ConciseStringConvertible {
  /// Issuer, count and age.
  public var description: String {
    Concise.text(
      "\(Concise.count(keyCount, "key")) of \(Concise.name(issuer))", age.map { "\($0) old" },
      isExpired ? "expired" : nil, isUsable ? nil : "not usable", lastError.map { "\($0)" })
  }
}
