import HTTPMessages
public import JOSE
import OAuthClient
public import PosternSupport

/// The key set of one issuer, or at one URL: fetched when first needed, kept, and refreshed before it expires.
///
/// Made by `KeySetStore`, which hands out the same one for the same place. Requests are driven by callers: there are no
/// timers, and an issuer nobody asks about is not polled. The state is behind a lock; requests run in tasks of their
/// own, which no caller's cancellation ends.
public final class RemoteJWKSet: KeySource {
  /// What is known of a key before anything is requested.
  private enum Look {
    /// The newer set, with the key or without it; nil: there is none.
    case settled(KeySetSnapshot?)
    case open
  }

  private let place: JWKSLocation
  private let context: KeySetContext
  private let budget: Locked<RequestBudget>
  private let state: Locked<KeySetState>
  /// The requests for a set that is due.
  let loads: SingleFlight<KeySetName, KeySetSnapshot, KeySetError>
  /// Apart from loads: one that began before the unknown `kid` was seen may bring a set that is older than the key.
  let refetches: SingleFlight<KeySetName, KeySetSnapshot?, KeySetError>

  init(place: JWKSLocation, policy: KeySetPolicy, context: KeySetContext, budget: Locked<RequestBudget>) {
    self.place = place
    self.context = context
    self.budget = budget
    state = Locked(KeySetState(policy: policy))
    loads = SingleFlight(clock: context.upstream.clock, servesEverybody: place.isEverybodys)
    refetches = SingleFlight(clock: context.upstream.clock, servesEverybody: place.isEverybodys)
  }

  /// What the set is called.
  public var name: KeySetName { place.name }

  /// The set in force. Waits for a request only when there is no set within its lifetime, and none that stands in
  /// during an outage.
  public func keySet(deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot {
    try await keySet(deadline: deadline, trace: nil)
  }

  func keySet(deadline: Deadline, trace: TraceContext?) async throws(KeySetError) -> KeySetSnapshot {
    let now = now
    switch state.withLock({ $0.read(at: now) }) {
    case .serve(let snapshot): return snapshot
    case .serveAndRefresh(let snapshot):
      Task { [self] in
        _ = try? await load(deadline: .never, trace: nil)
        state.withLock { $0.refreshEnded() }
      }
      return snapshot
    case .refuse(let error): throw error
    case .fetch: return try await load(deadline: deadline, trace: trace)
    }
  }

  /// A set fetched after `snapshot`: what came meanwhile, or what one request brings now, if the cool-down of the
  /// calling user and the budget allow one.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, deadline: Deadline
  ) async throws(KeySetError) -> KeySetSnapshot? {
    try await keySet(newerThan: snapshot, holding: { _ in true }, deadline: deadline, trace: nil)
  }

  /// The same for a key that `isSought` finds: what came meanwhile counts without it only if its request began after
  /// this call.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool, deadline: Deadline
  ) async throws(KeySetError) -> KeySetSnapshot? {
    try await keySet(newerThan: snapshot, holding: isSought, deadline: deadline, trace: nil)
  }

  func keySet(
    newerThan snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool, deadline: Deadline,
    trace: TraceContext?
  ) async throws(KeySetError) -> KeySetSnapshot? {
    let uid = Requesting.uid ?? Requester.process.uid
    // Attempts with a higher number begin after the question: only they can tell that the key does not exist.
    let question = context.nextAttempt()
    while true {
      if case .settled(let answer) = look(newerThan: snapshot, since: question, isSought) { return answer }
      let isOwn = Locked(false)
      do throws(SingleFlightError<KeySetError>) {
        let fetched = try await refetches.value(for: name, deadline: deadline) {
          [self] () async throws(KeySetError) in
          isOwn.withLock { $0 = true }
          if case .settled(let answer) = look(newerThan: snapshot, since: question, isSought) { return answer }
          return try await refetch(for: uid, trace)
        }
        if isOwn.withLock({ $0 }), let fetched, fetched.sequence > snapshot.sequence { return fetched }
      } catch {
        throw KeySetError(error)
      }
      // One that was begun for somebody else may have been forbidden to them, or have been older.
      if isOwn.withLock({ $0 }) { return held(newerThan: snapshot) }
      if case .settled(let answer) = look(newerThan: snapshot, since: question, isSought) { return answer }
      // Those who may make no request do not go round one after the other.
      guard try mayRefetch(at: now, for: uid) else { return held(newerThan: snapshot) }
    }
  }

  /// How the set stands, under the name `issuer`.
  func age(of issuer: String) -> KeySetAge {
    let now = now
    return state.withLock { state in
      KeySetAge(
        issuer: issuer, age: state.held.map { now - $0.fetchedAt }, keyCount: state.held?.keys.keys.count ?? 0,
        isExpired: state.held.map { $0.expiresAt <= now } ?? false, isUsable: state.snapshot(at: now) != nil,
        lastError: state.lastError)
    }
  }

  private var now: MonotonicInstant { context.upstream.clock.monotonicNow }

  private func held(newerThan snapshot: KeySetSnapshot) -> KeySetSnapshot? {
    let now = now
    return state.withLock { state in
      state.snapshot(at: now).flatMap { $0.sequence > snapshot.sequence ? $0 : nil }
    }
  }

  /// Whether what is held answers `question`: it has the key, or its request began afterwards.
  private func look(
    newerThan snapshot: KeySetSnapshot, since question: UInt64, _ isSought: (JWKSet) -> Bool
  ) -> Look {
    let now = now
    let known = state.withLock { state in state.snapshot(at: now).map { ($0, state.held?.attempt ?? 0) } }
    guard let (held, attempt) = known else { return .open }
    let newer = held.sequence > snapshot.sequence ? held : nil
    return attempt > question || newer.map { isSought($0.keys) } == true ? .settled(newer) : .open
  }

  private func load(deadline: Deadline, trace: TraceContext?) async throws(KeySetError) -> KeySetSnapshot {
    do throws(SingleFlightError<KeySetError>) {
      let loaded = try await loads.value(for: name, deadline: deadline) { [self] () async throws(KeySetError) in
        let now = now
        if let settled = state.withLock({ $0.settled(at: now) }) { return try settled.get() }
        // A refresh is bounded by the lifetime itself; without a set, the budget bounds what callers can cause.
        let isWithinBudget = budget.withLock { $0.take(at: now) }
        guard isWithinBudget || state.withLock({ $0.held != nil }) else {
          throw KeySetError(
            .fetchFailed, "too many requests for key sets", isRetryable: true,
            retryAfter: budget.withLock { $0.wait(at: now) })
        }
        return try await attempt(trace)
      }
      // A refetch may have been faster than the end of this load.
      return held(newerThan: loaded) ?? loaded
    } catch {
      throw KeySetError(error)
    }
  }

  /// One request for an unknown `kid`; nil when it is too early for one, the error when the last one failed.
  private func refetch(for uid: UInt32, _ trace: TraceContext?) async throws(KeySetError) -> KeySetSnapshot? {
    let now = now
    // Refetches of one source never overlap: nothing changes between the question and the stamp.
    guard try mayRefetch(at: now, for: uid) else { return nil }
    guard budget.withLock({ $0.take(at: now, for: uid) }) else { return nil }
    state.withLock { $0.stampRefetch(at: now, for: uid) }
    let snapshot = try await attempt(trace)
    let end = self.now
    if let error = state.withLock({ $0.toldOfKey(at: end, to: uid) }) { throw error }
    return snapshot
  }

  /// Whether `uid` may cause a request for an unknown `kid`; the last error when it may not and the last one failed.
  private func mayRefetch(at now: MonotonicInstant, for uid: UInt32) throws(KeySetError) -> Bool {
    let (isAllowed, lastError) = state.withLock {
      ($0.allowsRefetch(at: now, for: uid), $0.toldOfKey(at: now, to: uid))
    }
    if !isAllowed, let lastError { throw lastError }
    return isAllowed
  }

  /// One request, wherever it leads; afterwards the set in force, or the error when there is none.
  private func attempt(_ trace: TraceContext?) async throws(KeySetError) -> KeySetSnapshot {
    let number = context.nextAttempt()
    do throws(KeySetError) {
      return try await take(attempt: number, trace)
    } catch {
      let now = now
      let (counts, snapshot, told) = state.withLock { state in
        (state.fail(error, attempt: number, at: now), state.snapshot(at: now), state.told(at: now))
      }
      if counts {
        context.observer?.observe(.failed(source: name, error: error, servesOlderSet: snapshot != nil))
      }
      guard let snapshot else { throw told ?? error }
      return snapshot
    }
  }

  private func take(attempt: UInt64, _ trace: TraceContext?) async throws(KeySetError) -> KeySetSnapshot {
    let sentAt = now
    let (url, answer) = try await answer(trace)
    let now = now
    let (change, snapshot) = state.withLock { state in
      (state.take(answer, from: url, attempt: attempt, sentAt: sentAt, at: now), state.snapshot(at: now))
    }
    if let change { report(change) }
    guard let snapshot else { throw KeySetError(.fetchFailed, "the key set was confirmed after its time") }
    return snapshot
  }

  private func report(_ change: KeySetState.Change) {
    context.observer?.observe(.loaded(source: name, keyCount: change.keyCount))
    guard change.isRotation else { return }
    context.observer?.observe(.rotated(source: name, added: change.added, removed: change.removed))
  }

  /// The answer of the place where the set is now. Nothing there any more: the metadata may have moved it, and is asked
  /// anew, once.
  private func answer(_ trace: TraceContext?) async throws(KeySetError) -> (HTTPURL, KeySetRequest.Answer) {
    let first = try await url(trace)
    do throws(KeySetError) {
      return (first, try await ask(first, trace))
    } catch {
      guard case .issuer(let issuer) = place, issuer.endpoints[.jwks] == nil, error.status == 404 || error.status == 410
      else { throw error }
      context.discovery.doubt(issuer)
      let second = try await url(trace)
      guard second != first else { throw error }
      return (second, try await ask(second, trace))
    }
  }

  private func ask(_ url: HTTPURL, _ trace: TraceContext?) async throws(KeySetError) -> KeySetRequest.Answer {
    let entityTag = state.withLock { $0.entityTag(for: url) }
    return try await KeySetRequest(place: place, url: url, entityTag: entityTag, trace: trace)
      .send(over: context.upstream)
  }

  /// Where the set is now: asked of the metadata each time, so that a new `jwks_uri` counts as soon as it is known.
  private func url(_ trace: TraceContext?) async throws(KeySetError) -> HTTPURL {
    switch place {
    case .location(let url, _, _): return url
    case .issuer(let issuer):
      if let url = issuer.endpoints[.jwks] { return url }
      let metadata: ProviderMetadata
      do throws(SingleFlightError<DiscoveryError>) {
        metadata = try await context.discovery.metadata(for: issuer, trace: trace)
      } catch {
        throw KeySetError(discovery: error)
      }
      guard let url = metadata.endpoints[.jwks] else {
        throw KeySetError(.discoveryFailed, "the issuer's metadata names no acceptable jwks_uri")
      }
      return url
    }
  }
}
