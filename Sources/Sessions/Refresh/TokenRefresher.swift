import OAuthClient
import PosternSupport
import SessionRecords
import TokenValidation

/// Returns sessions' tokens, and refreshes them where they are about to expire or were rejected.
///
/// Refreshes are single-flight for each session: within the process by `flights`, between processes by the store's
/// leases. `RefreshState` decides what a refresh does; `run` tells it in order.
final class TokenRefresher: SessionPart {
  /// The result of one run of a session's single flight. It refreshes one of the session's tokens, and callers who need
  /// another one may have waited for it.
  struct Run: Sendable {
    let slot: TokenSlot
    let outcome: Result<LiveSession, SessionError>

    /// Whether the run has no result for the token of `slot`: it was for another one, and the issuer rejected that one
    /// alone.
    func isSilent(about slot: TokenSlot) -> Bool {
      guard self.slot != slot else { return false }
      guard case .failure(let error) = outcome else { return true }
      switch error.kind {
      case .tokenEndpoint, .authorizationFailed, .adviceRequired, .grantNotSupported: return true
      default: return false
      }
    }
  }

  /// Names a token whose refresh pauses after a failure.
  private struct Pausing: Sendable, Hashable {
    let key: RecordKey
    let slot: TokenSlot
  }

  /// How often one call may wait for a refresh: an issuer that returns the same token, or an expired one, would get
  /// requests without end.
  private static let maxRefreshes = 3
  /// How many refreshes of the session's other tokens one call may wait for.
  private static let maxOtherRefreshes = 64
  /// How long a caller waits for the refresh of a token that has not expired yet.
  private static let patience = Duration.milliseconds(500)

  let shared: SessionDependencies
  let suspended: SuspendedRefreshes
  let flights: SingleFlight<RecordKey, Run, SessionError>
  private let grants: RefreshGrants
  private let profiles: ProfileRegistry
  /// Pauses after failures of token endpoints.
  private let backoffs = Locked(FairCache<UInt32, Pausing, TokenBackoff>(capacity: 2048))

  init(_ shared: SessionDependencies, grants: RefreshGrants, profiles: ProfileRegistry) {
    self.shared = shared
    self.grants = grants
    self.profiles = profiles
    suspended = grants.suspended
    flights = SingleFlight(clock: shared.clock, failure: SessionError.init(endOf:))
  }

  // MARK: Tokens

  /// A token of the session that meets `need`, refreshed where need be. While the issuer is out of reach or slow, one
  /// that has not expired yet is returned.
  func token(
    _ need: TokenNeed, of handle: SessionHandle, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> AccessToken {
    do throws(SessionError) {
      return try await tokenInScope(need, of: handle, at: issuer, in: call)
    } catch {
      guard let any = need.withoutScope(after: error) else { throw error }
      return try await tokenInScope(any, of: handle, at: issuer, in: call)
    }
  }

  /// The session and the slot of the token that `need` means, without a refresh.
  func current(
    _ need: TokenNeed, of handle: SessionHandle, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> (LiveSession, TokenSlot) {
    let live = try await repository.live(handle, in: call)
    return (live, try slot(for: need, in: live, at: issuer))
  }

  /// The token of a session in memory that meets `need` as it is; nil when anything has to be waited for: the store, or
  /// a refresh.
  func cachedToken(
    _ need: TokenNeed, of handle: SessionHandle, at issuer: SessionIssuer, in call: CallScope
  ) throws(SessionError) -> AccessToken? {
    guard let live = try repository.cached(handle, in: call) else { return nil }
    let slot = try slot(for: need, in: live, at: issuer)
    guard let token = live.tokens[slot], need.isMet(by: token, at: clock.monotonicNow) else { return nil }
    observeNeed(at: issuer, isCached: true, in: call)
    return use(token, slot, live, issuer, in: call)
  }

  private func observeNeed(at issuer: SessionIssuer, isCached: Bool, in call: CallScope) {
    requests.provider.services.observer.observe(
      .sessionTokenNeeded(issuer: issuer.issuer.name, isCached: isCached), in: call)
  }

  /// The slot of the token that `need` means; throws where the session has no tokens for `issuer` any more.
  private func slot(
    for need: TokenNeed, in live: LiveSession, at issuer: SessionIssuer
  ) throws(SessionError) -> TokenSlot {
    try live.check(issuer)
    try ImplicitLogin.checkTerms(of: live, at: issuer)
    let isOver = live.contents.isReplaced && live.contents.hasExpired(at: clock.wallNow)
    guard !live.contents.grant.isRejected, !isOver else { throw SessionError(.expired, "the user has to log in again") }
    return need.slot(in: live)
  }

  private func tokenInScope(
    _ need: TokenNeed, of handle: SessionHandle, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> AccessToken {
    var refreshes = 0
    var others = 0
    while refreshes < Self.maxRefreshes, others < Self.maxOtherRefreshes {
      let (live, slot) = try await current(need, of: handle, at: issuer, in: call)
      let now = clock.monotonicNow
      let token = live.tokens[slot]
      let isMet = token.map { need.isMet(by: $0, at: now) } ?? false
      if refreshes == 0, others == 0 { observeNeed(at: issuer, isCached: isMet, in: call) }
      if let token, isMet { return use(token, slot, live, issuer, in: call) }
      let usable = token.flatMap { need.canUse($0, at: now) ? $0 : nil }
      // A refresh that is running takes its time: the token is valid, and the next caller may have the newer one.
      if let usable, flights.waiterCount(for: handle.key) != nil { return use(usable, slot, live, issuer, in: call) }
      // The token has to be valid when patience ends.
      let patience = usable.map { Deadline(in: min(Self.patience, ($0.expiry - now) / 2), on: clock) } ?? .never
      do throws(SessionError) {
        let run = try await call.waitingForToken(of: issuer.issuer.name) { call async throws(SessionError) -> Run in
          try await self.refresh(slot, for: need, of: handle, at: issuer, in: call.until(patience))
        }
        if case .success(let refreshed) = run.outcome, let newer = refreshed.tokens[slot],
          need.isMet(by: newer, after: token, at: clock.monotonicNow)
        {
          return use(newer, slot, refreshed, issuer, in: call)
        }
        // It was another call's run for another of the session's tokens.
        if run.isSilent(about: slot) {
          others += 1
          continue
        }
        refreshes += 1
        _ = try run.outcome.get()
      } catch {
        if let token = await fallback(for: error, need, slot, live, usable: usable, in: call) {
          return use(token, slot, live, issuer, in: call)
        }
        // Patience ended, but not before the token did.
        if case .deadlineExceeded = error.kind, !call.deadline.hasPassed(on: clock) {
          refreshes += 1
          continue
        }
        throw error
      }
    }
    guard others < Self.maxOtherRefreshes else {
      throw SessionError(
        .overloaded(retryAfter: .seconds(1)), "too many of the session's other tokens are refreshed first")
    }
    throw SessionError(
      TokenError(.malformed, "the token endpoint gives the rejected token again, or one that has expired"))
  }

  /// Returns a token that is in use now: it is refreshed before it expires.
  private func use(
    _ token: AccessToken, _ slot: TokenSlot, _ live: LiveSession, _ issuer: SessionIssuer, in call: CallScope
  ) -> AccessToken {
    schedule(token, slot, live, issuer, in: call)
    return token
  }

  /// The token to use after a refresh failed with `error`.
  private func fallback(
    for error: SessionError, _ need: TokenNeed, _ slot: TokenSlot, _ live: LiveSession, usable: AccessToken?,
    in call: CallScope
  ) async -> AccessToken? {
    guard !repository.isRejected(live.handle) else { return nil }
    let now = clock.monotonicNow
    let usable = usable.flatMap { $0.expiry > now ? $0 : nil }
    switch error.kind {
    case .unreachable: return live.tokens[slot].flatMap { need.canFallBack(to: $0, at: now) ? $0 : nil }
    case .deadlineExceeded, .tokenEndpoint, .grantNotSupported, .adviceRequired, .store: return usable
    case .expired:
      // The last token is valid until it expires, unless it has been removed.
      let current = try? await repository.live(live.handle, in: call)
      return usable.flatMap { current?.tokens[slot]?.value == $0.value ? $0 : nil }
    default: return nil
    }
  }

  // MARK: Refreshing

  /// A refresh, begun now or joined: of all of a session's tokens one is refreshed at a time. With `isPart` it belongs to
  /// an operation that keeps the store in this process already.
  func refresh(
    _ slot: TokenSlot, for need: TokenNeed, of handle: SessionHandle, at issuer: SessionIssuer, isPart: Bool = false,
    in call: CallScope
  ) async throws(SessionError) -> Run {
    try await flights.value(for: handle.key, in: call) { [self] call async throws(SessionError) in
      Run(slot: slot, outcome: await run(slot, for: need, of: handle, at: issuer, isPart: isPart, in: call))
    }
  }

  /// Whether a refresh of the token could begin now: none is running, no pause, and nothing is waited for of the user.
  func isIdle(_ handle: SessionHandle, _ slot: TokenSlot, at now: MonotonicInstant) -> Bool {
    flights.waiterCount(for: handle.key) == nil && backoff(of: handle, slot)?.error(at: now) == nil
      && !suspended.waitsForUser(handle, at: now)
  }

  /// The token's pause after a failed refresh, if any.
  func backoff(of handle: SessionHandle, _ slot: TokenSlot) -> TokenBackoff? {
    backoffs.withLock { $0[Pausing(key: handle.key, slot: slot)] }
  }

  /// Sets the token's pause; nil ends it.
  func setBackoff(_ backoff: TokenBackoff?, of handle: SessionHandle, _ slot: TokenSlot, ownedBy uid: UInt32) {
    let pausing = Pausing(key: handle.key, slot: slot)
    backoffs.withLock { backoffs in
      guard let backoff else { return backoffs.remove(pausing) }
      backoffs.set(backoff, for: pausing, of: uid)
    }
  }

  /// The story of a refresh, from reading the record, through its lease and the token request, to the save.
  ///
  /// From the lease on this process keeps the store: the outcome has to be written.
  private func run(
    _ slot: TokenSlot, for need: TokenNeed, of handle: SessionHandle, at issuer: SessionIssuer, isPart: Bool,
    in call: CallScope
  ) async -> Result<LiveSession, SessionError> {
    var state = RefreshState(
      need, of: slot, backoff: backoff(of: handle, slot),
      registersProfiles: issuer.implicit?.needsIDToken == true)
    var isRetained = false
    defer { if isRetained { store.endRetention() } }
    var event = RefreshState.Event.began
    while true {
      let action = state.next(event, at: clock.monotonicNow, wallNow: clock.wallNow)
      for effect in state.takeEffects() { await apply(effect, to: handle, slot, at: issuer, in: call) }
      do throws(SessionError) {
        switch action {
        case .read: event = .read(try await repository.read(handle, in: call), unsaved: repository.unsaved(handle))
        case .locateEndpoint:
          try await shared.locateTokenEndpoint(of: issuer, in: call)
          event = .located
        case .lease(let duration):
          if !isRetained { try retain(isPart: isPart) }
          isRetained = true
          event = .leased(try await repository.lease(handle, for: duration, in: call))
        case .wait(let pause):
          try? await clock.sleep(for: pause)
          event = .waited
        case .addKey(let live): event = .keyAdded(try await repository.withKey(live, issuer, state.lease, in: call))
        case .request(let live):
          do throws(SessionError) {
            event = .answered(try await grants.request(live, slot, issuer, in: call))
          } catch {
            event = .rejected(error)
          }
        case .validate(let idToken, let token, let live):
          event = .validated(await idTokens.verdict(onRefreshed: idToken, token, of: live, at: issuer, in: call))
        case .save(let contents, let base):
          event = .saved(
            try await repository.update(base, by: .refreshOutcome(under: state.lease), in: call) { $0 = contents })
        case .finish(let outcome):
          if let lease = state.lease { await store.release(lease, by: call.uid) }
          return outcome
        }
      } catch {
        event = .failed(error)
      }
    }
  }

  private func retain(isPart: Bool) throws(SessionError) {
    do throws(StoreError) { try store.beginRetention(isNested: isPart) } catch { throw SessionError(error) }
  }

  private func apply(
    _ effect: RefreshState.Effect, to handle: SessionHandle, _ slot: TokenSlot, at issuer: SessionIssuer,
    in call: CallScope
  ) async {
    let name = issuer.issuer.name
    switch effect {
    case .setBackoff(let backoff): setBackoff(backoff, of: handle, slot, ownedBy: call.uid)
    case .announce(let live): observer?.observe(.refreshed(live.session, uid: live.uid), in: call)
    case .announceEnd(let live): observer?.observe(.ended(live.handle, issuer: name, uid: live.uid), in: call)
    case .reportIDToken(let fault): observer?.observe(.idTokenRejected(issuer: name, fault: fault), in: call)
    case .revokeOrphaned(let answer, let uid): revocation.revokeOrphaned(answer, issuer, of: uid, in: call)
    case .register(let contents, let uid): await profiles.register(contents, ownedBy: uid, at: issuer, in: call)
    }
  }
}
