import HTTPMessages
public import JOSE
public import OAuthClient
public import PosternSupport

/// The key set of one issuer, or at one URL: fetched when first needed, cached, and refreshed before it expires.
///
/// Made by `KeySetStore`, once per location. Requests are caused by callers: there are no timers, and an issuer without
/// callers is not polled. The state is behind a lock; requests run in tasks of their own, which no caller's
/// cancellation ends.
public final class RemoteJWKSet: KeySource {
  /// The result of a look-up before a request.
  private enum Look {
    /// The newer set, with the key or without it; nil when there is none.
    case settled(KeySetSnapshot?)
    case open
  }

  private let location: JWKSLocation
  private let context: KeySetContext
  private let budget: Locked<RequestBudget>
  private let state: Locked<KeySetState>
  /// The requests for a set that is due.
  let loads: SingleFlight<KeySetName, KeySetSnapshot, KeySetError>
  /// The requests for an unknown `kid`, apart from loads: a load that started earlier may bring a set that is older
  /// than the key.
  let refetches: SingleFlight<KeySetName, KeySetSnapshot?, KeySetError>

  init(location: JWKSLocation, policy: KeySetPolicy, context: KeySetContext, budget: Locked<RequestBudget>) {
    self.location = location
    self.context = context
    self.budget = budget
    state = Locked(KeySetState(policy: policy))
    let (clock, isShared) = (context.services.clock, location.isShared)
    loads = SingleFlight(clock: clock, servesEverybody: isShared, failure: KeySetError.init(endOf:))
    refetches = SingleFlight(clock: clock, servesEverybody: isShared, failure: KeySetError.init(endOf:))
  }

  /// The name of the set.
  public var name: KeySetName { location.name }

  /// Returns the current set, if it is within its lifetime and not due for a refresh.
  public var currentKeySet: KeySetSnapshot? {
    let now = now
    return state.withLock { $0.settledSet(at: now) }
  }

  /// Returns the current set. Waits for a request only when there is no set within its lifetime, nor an older one to
  /// use during an outage.
  public func keySet(in scope: CallScope = CallScope()) async throws(KeySetError) -> KeySetSnapshot {
    let now = now
    switch state.withLock({ $0.read(at: now) }) {
    case .serve(let snapshot): return snapshot
    case .serveAndRefresh(let snapshot):
      Task { [self] in
        _ = try? await load(in: scope.unbounded.untraced)
        state.withLock { $0.refreshEnded() }
      }
      return snapshot
    case .fail(let error): throw error
    case .fetch: return try await load(in: scope)
    }
  }

  /// Returns a set fetched after `snapshot`: one that was fetched meanwhile, or that of one request now, if the
  /// cool-down of the calling user and the budget allow it.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, in scope: CallScope = CallScope()
  ) async throws(KeySetError) -> KeySetSnapshot? {
    try await keySet(newerThan: snapshot, holding: { _ in true }, in: scope)
  }

  /// Returns the same for a key that `isSought` finds: a set without it counts only if its request started after this
  /// call.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool,
    in scope: CallScope = CallScope()
  ) async throws(KeySetError) -> KeySetSnapshot? {
    let uid = scope.uid
    // Attempts with a higher number start after this call: only they can show that the key does not exist.
    let question = context.nextAttempt()
    while true {
      if case .settled(let answer) = look(newerThan: snapshot, since: question, isSought) { return answer }
      let isOwn = Locked(false)
      let fetched = try await refetches.value(for: name, in: scope) { [self] scope async throws(KeySetError) in
        isOwn.withLock { $0 = true }
        if case .settled(let answer) = look(newerThan: snapshot, since: question, isSought) { return answer }
        return try await refetch(for: uid, scope)
      }
      if isOwn.withLock({ $0 }), let fetched, fetched.sequence > snapshot.sequence { return fetched }
      // A request for another user may have been forbidden to that user, or have been older.
      if isOwn.withLock({ $0 }) { return current(newerThan: snapshot) }
      if case .settled(let answer) = look(newerThan: snapshot, since: question, isSought) { return answer }
      // Callers that may make no request do not wait for each other's.
      guard try mayRefetch(at: now, for: uid) else { return current(newerThan: snapshot) }
    }
  }

  /// Returns the age of the set, under the name `issuer`.
  func age(of issuer: String) -> KeySetAge {
    let now = now
    return state.withLock { state in
      KeySetAge(
        issuer: issuer, age: state.current.map { now - $0.fetchedAt }, keyCount: state.current?.keys.keys.count ?? 0,
        isExpired: state.current.map { $0.expiresAt <= now } ?? false, isUsable: state.snapshot(at: now) != nil,
        lastError: state.lastError)
    }
  }

  private var now: MonotonicInstant { context.services.clock.monotonicNow }

  private func current(newerThan snapshot: KeySetSnapshot) -> KeySetSnapshot? {
    let now = now
    return state.withLock { state in
      state.snapshot(at: now).flatMap { $0.sequence > snapshot.sequence ? $0 : nil }
    }
  }

  /// Whether the current set answers `question`: it has the key, or its request started afterwards.
  private func look(
    newerThan snapshot: KeySetSnapshot, since question: UInt64, _ isSought: (JWKSet) -> Bool
  ) -> Look {
    let now = now
    let known = state.withLock { state in state.snapshot(at: now).map { ($0, state.current?.attempt ?? 0) } }
    guard let (current, attempt) = known else { return .open }
    let newer = current.sequence > snapshot.sequence ? current : nil
    return attempt > question || newer.map { isSought($0.keys) } == true ? .settled(newer) : .open
  }

  private func load(in scope: CallScope) async throws(KeySetError) -> KeySetSnapshot {
    let loaded = try await loads.value(for: name, in: scope) { [self] scope async throws(KeySetError) in
      let now = now
      if let settled = state.withLock({ $0.settled(at: now) }) { return try settled.get() }
      // The lifetime bounds refreshes; without a set, the budget bounds what callers can cause.
      let isWithinBudget = budget.withLock { $0.take(at: now) }
      guard isWithinBudget || state.withLock({ $0.current != nil }) else {
        throw KeySetError(
          .fetchFailed, "too many requests for key sets", isRetryable: true,
          retryAfter: budget.withLock { $0.wait(at: now) })
      }
      return try await attempt(scope)
    }
    // A refetch may have been faster than the end of this load.
    return current(newerThan: loaded) ?? loaded
  }

  /// Makes one request for an unknown `kid`; nil when it is too early for one; throws the error of the last one when it
  /// failed.
  private func refetch(for uid: UInt32, _ scope: CallScope) async throws(KeySetError) -> KeySetSnapshot? {
    let now = now
    // Refetches of one source never overlap: nothing changes between the check and the stamp.
    guard try mayRefetch(at: now, for: uid) else { return nil }
    guard budget.withLock({ $0.take(at: now, for: uid) }) else { return nil }
    state.withLock { $0.stampRefetch(at: now, for: uid) }
    let snapshot = try await attempt(scope)
    let end = self.now
    if let error = state.withLock({ $0.keyError(at: end, for: uid) }) { throw error }
    return snapshot
  }

  /// Whether `uid` may cause a request for an unknown `kid`; throws the last error when it may not and the last one
  /// failed.
  private func mayRefetch(at now: MonotonicInstant, for uid: UInt32) throws(KeySetError) -> Bool {
    let (isAllowed, lastError) = state.withLock {
      ($0.allowsRefetch(at: now, for: uid), $0.keyError(at: now, for: uid))
    }
    if !isAllowed, let lastError { throw lastError }
    return isAllowed
  }

  /// Makes one request; returns the current set afterwards, or throws the error when there is none.
  private func attempt(_ scope: CallScope) async throws(KeySetError) -> KeySetSnapshot {
    let number = context.nextAttempt()
    do throws(KeySetError) {
      return try await take(attempt: number, scope)
    } catch {
      let now = now
      let (counts, snapshot, reported) = state.withLock { state in
        (state.fail(error, attempt: number, at: now), state.snapshot(at: now), state.reportedError(at: now))
      }
      if counts {
        context.observer?.observe(.failed(source: name, error: error, servesOlderSet: snapshot != nil), in: scope)
      }
      guard let snapshot else { throw reported ?? error }
      return snapshot
    }
  }

  private func take(attempt: UInt64, _ scope: CallScope) async throws(KeySetError) -> KeySetSnapshot {
    let sentAt = now
    let (url, answer) = try await answer(scope)
    let now = now
    let (change, snapshot) = state.withLock { state in
      (state.take(answer, from: url, attempt: attempt, sentAt: sentAt, at: now), state.snapshot(at: now))
    }
    if let change { report(change, scope) }
    guard let snapshot else { throw KeySetError(.fetchFailed, "the key set was confirmed after its time") }
    return snapshot
  }

  private func report(_ change: KeySetState.Change, _ scope: CallScope) {
    context.observer?.observe(.loaded(source: name, keyCount: change.keyCount), in: scope)
    guard change.isRotation else { return }
    context.observer?.observe(.rotated(source: name, added: change.added, removed: change.removed), in: scope)
  }

  /// Returns the answer of the current URL. Where the set is no longer there, the metadata may have moved it, and is
  /// fetched again, once.
  private func answer(_ scope: CallScope) async throws(KeySetError) -> (HTTPURL, KeySetRequest.Answer) {
    let first = try await url(scope)
    do throws(KeySetError) {
      return (first, try await ask(first, scope))
    } catch {
      guard case .issuer(let issuer) = location, issuer.endpoints[.jwks] == nil,
        error.status == 404 || error.status == 410
      else { throw error }
      context.discovery.doubt(issuer)
      let second = try await url(scope)
      guard second != first else { throw error }
      return (second, try await ask(second, scope))
    }
  }

  private func ask(_ url: HTTPURL, _ scope: CallScope) async throws(KeySetError) -> KeySetRequest.Answer {
    let entityTag = state.withLock { $0.entityTag(for: url) }
    return try await KeySetRequest(location: location, url: url, entityTag: entityTag, scope: scope)
      .send(over: context.services)
  }

  /// Returns the current URL: from the metadata each time, so that a new `jwks_uri` counts as soon as it is known.
  private func url(_ scope: CallScope) async throws(KeySetError) -> HTTPURL {
    switch location {
    case .location(let url, _): return url
    case .issuer(let issuer):
      if let url = issuer.endpoints[.jwks] { return url }
      let metadata: ProviderMetadata
      do throws(TokenError) {
        metadata = try await context.discovery.metadata(for: issuer, in: scope)
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

extension RemoteJWKSet: ConciseStringConvertible {
  /// The name.
  public var description: String { "key set of \(Concise.name("\(name)"))" }
}
