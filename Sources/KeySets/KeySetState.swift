import HTTPMessages
import JOSE
import PosternSupport

/// What is known of one published key set: the set in force, its times, and what went wrong last. A pure state machine:
/// the owner keeps it behind a lock and acts on what it returns outside of it.
struct KeySetState: Sendable {
  /// A set in force.
  struct Held: Sendable {
    let keys: JWKSet
    let thumbprints: Set<String>
    /// Where it came from; another URL has other entity tags.
    let url: HTTPURL
    let entityTag: String?
    let sequence: UInt64
    /// The attempt that fetched or last confirmed it: what older attempts bring is dropped.
    var attempt: UInt64
    var fetchedAt: MonotonicInstant
    var refreshAt: MonotonicInstant
    var expiresAt: MonotonicInstant
  }

  /// What a caller gets.
  enum Reading: Sendable {
    case serve(KeySetSnapshot)
    /// Serve this, and begin a refresh behind the caller's back; `refreshEnded` must follow.
    case serveAndRefresh(KeySetSnapshot)
    /// There is nothing to serve before a request has been made.
    case fetch
    case refuse(KeySetError)
  }

  /// What an answer changed.
  struct Change: Sendable {
    let keyCount: Int
    let added: [String]
    let removed: [String]
    var isRotation: Bool { !added.isEmpty || !removed.isEmpty }
  }

  let policy: KeySetPolicy
  private(set) var held: Held?
  private(set) var lastError: KeySetError?
  private var failedAt: MonotonicInstant?
  private var failures = 0
  private var retryAt: MonotonicInstant?
  /// Until when the server wants to be left alone.
  private var askedUntil: MonotonicInstant?
  /// Whose unknown `kid` has had the set fetched, until the cool-down is over: each user has one of their own, so that
  /// nobody's keeps another's new key from being found.
  private var refetches: [UInt32: MonotonicInstant] = [:]
  private var isRefreshing = false

  init(policy: KeySetPolicy) { self.policy = policy }

  /// The set as callers see it; nil when there is none within its lifetime and the bound of stale-if-error.
  func snapshot(at now: MonotonicInstant) -> KeySetSnapshot? {
    guard let held, now < held.expiresAt + policy.staleIfError else { return nil }
    return KeySetSnapshot(
      keys: held.keys, sequence: held.sequence, fetchedAt: held.fetchedAt, isStale: held.expiresAt <= now)
  }

  /// What to do for a caller who wants keys.
  mutating func read(at now: MonotonicInstant) -> Reading {
    guard let held, let snapshot = snapshot(at: now) else {
      if isWaiting(at: now), let error = told(at: now) { return .refuse(error) }
      return .fetch
    }
    // Past its lifetime it stands in for what could not be had, not for what was never tried.
    guard !snapshot.isStale || isWaiting(at: now) || failedAt.map({ $0 >= held.expiresAt }) == true else {
      return .fetch
    }
    guard held.refreshAt <= now, !isRefreshing, !isWaiting(at: now) else { return .serve(snapshot) }
    isRefreshing = true
    return .serveAndRefresh(snapshot)
  }

  /// Looks again when a load begins: the one before it may have ended since the caller looked. Nil when the request is
  /// to be made.
  func settled(at now: MonotonicInstant) -> Result<KeySetSnapshot, KeySetError>? {
    if let held, now < held.refreshAt, let snapshot = snapshot(at: now) { return .success(snapshot) }
    guard isWaiting(at: now), let error = told(at: now) else { return nil }
    return snapshot(at: now).map { .success($0) } ?? .failure(error)
  }

  /// The background refresh that `read` asked for is over, however it ended.
  mutating func refreshEnded() { isRefreshing = false }

  /// The last error, with how long no load makes a request; nil when the last attempt went well.
  func told(at now: MonotonicInstant) -> KeySetError? {
    lastError?.waiting(retryAt.flatMap { now < $0 ? $0 - now : nil })
  }

  /// Whether a refetch for an unknown `kid` may be made for `uid`: the cool-down is over, and the server does not want
  /// to be left alone.
  func allowsRefetch(at now: MonotonicInstant, for uid: UInt32) -> Bool {
    refetchAt(for: uid).map { $0 <= now } ?? true
  }

  /// The last error, with how long neither a refetch nor a load makes a request; nil when the last attempt went well.
  func toldOfKey(at now: MonotonicInstant, to uid: UInt32) -> KeySetError? {
    let loadAt = [held?.refreshAt, retryAt].compactMap(\.self).max()
    let next = [refetchAt(for: uid), loadAt].compactMap(\.self).min()
    return lastError?.waiting(next.flatMap { now < $0 ? $0 - now : nil })
  }

  private func refetchAt(for uid: UInt32) -> MonotonicInstant? {
    [refetches[uid].map { $0 + policy.cooldown }, askedUntil].compactMap(\.self).max()
  }

  /// Starts the cool-down of `uid`; to be called before the attempt, so that a failing one counts too.
  mutating func stampRefetch(at now: MonotonicInstant, for uid: UInt32) {
    refetches = refetches.filter { now < $0.value + policy.cooldown }
    refetches[uid] = now
  }

  /// The entity tag to send along to `url`.
  func entityTag(for url: HTTPURL) -> String? { held.flatMap { $0.url == url ? $0.entityTag : nil } }

  /// Takes what `attempt`, begun at `sentAt` and ended at `now`, brought from `url`; nil when a younger attempt was
  /// faster, and when the server confirmed a set that is no longer the one held.
  mutating func take(
    _ answer: KeySetRequest.Answer, from url: HTTPURL, attempt: UInt64, sentAt: MonotonicInstant,
    at now: MonotonicInstant
  ) -> Change? {
    if let held, attempt < held.attempt { return nil }
    switch answer {
    case .keys(let keys, let entityTag, let ttl):
      let thumbprints = Set(keys.keys.compactMap(\.thumbprint))
      let old = held?.thumbprints ?? thumbprints
      held = Held(
        keys: keys, thumbprints: thumbprints, url: url, entityTag: entityTag, sequence: attempt, attempt: attempt,
        fetchedAt: sentAt, refreshAt: now, expiresAt: now)
      setTimes(ttl.map { $0 - (now - sentAt) }, from: now)
      return Change(
        keyCount: keys.keys.count, added: thumbprints.subtracting(old).sorted(),
        removed: old.subtracting(thumbprints).sorted())
    case .notModified(let entityTag, let ttl):
      guard let held, held.url == url, held.entityTag == entityTag else { return nil }
      self.held?.attempt = attempt
      self.held?.fetchedAt = sentAt
      setTimes(ttl.map { $0 - (now - sentAt) }, from: now)
      return Change(keyCount: held.keys.keys.count, added: [], removed: [])
    }
  }

  /// Remembers that `attempt` failed, unless a younger one has succeeded meanwhile. What is held stays. False when it
  /// was too late to matter.
  @discardableResult
  mutating func fail(_ error: KeySetError, attempt: UInt64, at now: MonotonicInstant) -> Bool {
    if let held, attempt < held.attempt { return false }
    lastError = error
    failedAt = now
    failures = min(failures + 1, 6)
    askedUntil = error.retryAfter.map { now + min($0, Self.maxRetryInterval) }
    let pause = now + min(.seconds(1 << (failures - 1)), Self.maxRetryInterval)
    retryAt = max(pause, askedUntil ?? pause)
    return true
  }

  /// Failing servers are asked after 1, 2, 4, 8, 16 seconds and then at this interval; later where they say so, and
  /// never later than this.
  static let maxRetryInterval: Duration = .seconds(30)

  private func isWaiting(at now: MonotonicInstant) -> Bool { retryAt.map { now < $0 } ?? false }

  /// The last fifth of the lifetime, five minutes at most, is for refreshing ahead.
  private mutating func setTimes(_ ttl: Duration?, from now: MonotonicInstant) {
    let lifetime = policy.lifetime(ttl)
    held?.expiresAt = now + lifetime
    held?.refreshAt = now + (lifetime - min(lifetime / 5, .seconds(300)))
    lastError = nil
    failedAt = nil
    failures = 0
    retryAt = nil
    askedUntil = nil
  }
}
