import OAuthClient
import PosternSupport
import SessionRecords
import TokenValidation

/// A token that was requested of a session, and where it was found.
struct FoundToken: Sendable {
  let token: AccessToken
  let slot: TokenSlot
  let live: LiveSession
}

/// A request for a session's token.
struct TokenQuery: Sendable {
  let handle: SessionHandle
  let uid: UInt32
  let issuer: SessionIssuer
  var scope: String?
  var audience: String?
  /// Whether the session's own token never replaces one for `scope` and `audience`.
  var isNarrow = false
  /// Whether the session's own token will do if the issuer does not grant `scope`.
  var mayLackScope = false
  /// A token that was rejected.
  var rejected: AccessToken?
  var minimumLife: Duration?
  var deadline = Deadline.never
  var trace: TraceContext?
}

/// Returns sessions' tokens, and refreshes them where they are about to expire or were rejected.
///
/// Refreshes are single-flight for each session: within the process by `flights`, between processes by the store's
/// leases. `RefreshState` decides what a refresh does; this type carries it out.
final class TokenRefresher: Sendable {
  /// How often one call may wait for a refresh: an issuer that returns the same token, or an expired one, would get
  /// requests without end.
  private static let maxRefreshes = 3
  /// How many refreshes of the session's other tokens one call may wait for.
  private static let maxOtherRefreshes = 64
  /// How long a caller waits for the refresh of a token that has not expired yet.
  private static let patience = Duration.milliseconds(500)

  private let shared: SessionDependencies
  private let grants: RefreshGrants
  private let profiles: ProfileRegistry
  let suspended: SuspendedRefreshes
  let flights: SingleFlight<RecordKey, RefreshOutcome, SessionError>
  /// Pauses after failures of token endpoints.
  let backoffs = Locked(FairCache<UInt32, RefreshKey, TokenBackoff>(capacity: 2048))

  init(_ shared: SessionDependencies, grants: RefreshGrants, profiles: ProfileRegistry) {
    self.shared = shared
    self.grants = grants
    self.profiles = profiles
    suspended = grants.suspended
    flights = SingleFlight(clock: shared.clock, failure: SessionError.init(endOf:))
  }

  private var clock: any EngineClock { shared.clock }
  private var repository: SessionRepository { shared.repository }

  // MARK: Tokens

  /// A fresh token of the session, refreshed where need be. While the issuer is out of reach or slow, one that has not
  /// expired yet is returned.
  ///
  /// With `mayLackScope` it is the session's own token where the scope that is wanted was not granted, or is not any
  /// more: the resource server decides whether that is enough.
  func token(_ query: TokenQuery) async throws(SessionError) -> FoundToken {
    do throws(SessionError) {
      return try await tokenInScope(query)
    } catch {
      guard query.mayLackScope, query.scope != nil, query.audience == nil, query.rejected == nil,
        error.isScopeRejected
      else { throw error }
      var any = query
      any.scope = nil
      return try await tokenInScope(any)
    }
  }

  /// The session of `query` and the slot of its token, without a refresh.
  func current(_ query: TokenQuery) async throws(SessionError) -> (LiveSession, TokenSlot) {
    let live = try await repository.live(query.handle, ownedBy: query.uid)
    try live.check(query.issuer)
    try ImplicitLogin.checkTerms(of: live, at: query.issuer)
    let isOver = live.contents.isReplaced && live.contents.hasExpired(at: clock.wallNow)
    guard !live.contents.grant.isRejected, !isOver else { throw SessionError(.expired, "the user has to log in again") }
    return (live, live.slot(of: query))
  }

  private func tokenInScope(_ query: TokenQuery) async throws(SessionError) -> FoundToken {
    var refreshes = 0
    var others = 0
    while refreshes < Self.maxRefreshes, others < Self.maxOtherRefreshes {
      let (live, slot) = try await current(query)
      let now = clock.monotonicNow
      let requirement = TokenRequirement(slot: slot, rejected: query.rejected, minimumLife: query.minimumLife)
      let cached = requirement.token(of: live, at: now)
      if refreshes == 0, others == 0 {
        shared.requests.provider.upstream.observer.observe(
          .sessionTokenNeeded(issuer: query.issuer.issuer.name, isCached: cached != nil))
      }
      if let cached { return FoundToken(token: cached, slot: slot, live: live) }
      let usable = requirement.usable(of: live, at: now)
      // A refresh that is running takes its time: the token is valid, and the next caller may have the newer one.
      if let usable, flights.waiterCount(for: query.handle.key) != nil {
        return FoundToken(token: usable, slot: slot, live: live)
      }
      // The token has to be valid when patience ends.
      let patience = usable.map { Deadline(in: min(Self.patience, ($0.expiry - now) / 2), on: clock) } ?? .never
      do throws(SessionError) {
        let run = try await query.trace.waitingForToken(of: query.issuer.issuer.name) {
          trace async throws(SessionError) -> RefreshOutcome in
          try await self.refresh(
            query.handle, ownedBy: query.uid, requirement, query.issuer, by: query.deadline.earlier(patience), trace)
        }
        if case .success(let refreshed) = run.outcome,
          let token = requirement.token(of: refreshed, after: live.tokens[slot], at: clock.monotonicNow)
        {
          return FoundToken(token: token, slot: slot, live: refreshed)
        }
        // It was another call's run for another of the session's tokens.
        if run.isSilent(about: slot) {
          others += 1
          continue
        }
        refreshes += 1
        _ = try run.outcome.get()
      } catch {
        if let token = await fallback(for: error, requirement, live, usable: usable) {
          return FoundToken(token: token, slot: slot, live: live)
        }
        // Patience ended, but not before the token did.
        if case .deadlineExceeded = error.kind, !query.deadline.hasPassed(on: clock) {
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

  /// The token to use after a refresh failed with `error`.
  private func fallback(
    for error: SessionError, _ requirement: TokenRequirement, _ live: LiveSession, usable: AccessToken?
  ) async -> AccessToken? {
    guard !repository.isRejected(live.handle) else { return nil }
    let now = clock.monotonicNow
    let usable = usable.flatMap { $0.expiry > now ? $0 : nil }
    switch error.kind {
    case .unreachable: return requirement.fallback(of: live, at: now)
    case .deadlineExceeded, .tokenEndpoint, .grantNotSupported, .adviceRequired, .store: return usable
    case .expired:
      // The last token is valid until it expires, unless it has been removed.
      let current = try? await repository.live(live.handle, ownedBy: live.uid)
      return usable.flatMap { current?.tokens[requirement.slot]?.value == $0.value ? $0 : nil }
    default: return nil
    }
  }

  // MARK: Refreshing

  /// A refresh, begun now or joined: of all of a session's tokens one is refreshed at a time.
  func refresh(
    _ handle: SessionHandle, ownedBy uid: UInt32, _ requirement: TokenRequirement, _ issuer: SessionIssuer,
    by deadline: Deadline = .never, _ trace: TraceContext?
  ) async throws(SessionError) -> RefreshOutcome {
    try await flights.value(for: handle.key, deadline: deadline) { [self] () async throws(SessionError) in
      do throws(SessionError) {
        let live = try await run(
          Job(handle: handle, uid: uid, requirement: requirement, issuer: issuer, trace: trace))
        return RefreshOutcome(slot: requirement.slot, outcome: .success(live))
      } catch {
        return RefreshOutcome(slot: requirement.slot, outcome: .failure(error))
      }
    }
  }

  /// Whether a refresh of the token could begin now: none is running, no pause, and nothing is waited for of the user.
  func isIdle(_ handle: SessionHandle, _ slot: TokenSlot, at now: MonotonicInstant) -> Bool {
    let name = RefreshKey(key: handle.key, slot: slot)
    return flights.waiterCount(for: handle.key) == nil && backoffs.withLock({ $0[name] })?.error(at: now) == nil
      && !suspended.waitsForUser(handle, at: now)
  }

  private struct Job: Sendable {
    let handle: SessionHandle
    let uid: UInt32
    let requirement: TokenRequirement
    let issuer: SessionIssuer
    let trace: TraceContext?

    var name: RefreshKey { RefreshKey(key: handle.key, slot: requirement.slot) }
  }

  /// From the lease on this process keeps the store: the outcome has to be written.
  private func run(_ job: Job) async throws(SessionError) -> LiveSession {
    var state = RefreshState(
      job.requirement, backoff: backoffs.withLock { $0[job.name] },
      registersProfiles: job.issuer.implicit?.needsIDToken == true)
    var action = await next(&state, .began, job)
    while true {
      switch action {
      case .finish(let outcome): return try outcome.get()
      case .lease: return try await runLeased(state, action, job)
      default: action = await next(&state, await carryOut(action, state, job), job)
      }
    }
  }

  private func runLeased(
    _ state: RefreshState, _ action: RefreshState.Action, _ job: Job
  ) async throws(SessionError) -> LiveSession {
    try await repository.store.whileRetained(SessionError.init) { () async throws(SessionError) in
      var state = state
      var action = action
      while true {
        if case .finish(let outcome) = action {
          if let lease = state.lease { await repository.store.release(lease) }
          return try outcome.get()
        }
        action = await next(&state, await carryOut(action, state, job), job)
      }
    }
  }

  private func next(_ state: inout RefreshState, _ event: RefreshState.Event, _ job: Job) async -> RefreshState.Action {
    let action = state.next(event, at: clock.monotonicNow, wallNow: clock.wallNow)
    for effect in state.takeEffects() { await apply(effect, job) }
    return action
  }

  private func carryOut(_ action: RefreshState.Action, _ state: RefreshState, _ job: Job) async -> RefreshState.Event {
    do throws(SessionError) {
      switch action {
      case .read: return .read(try await repository.read(job.handle), unsaved: repository.unsaved(job.handle))
      case .locateEndpoint:
        try await shared.locateTokenEndpoint(of: job.issuer, job.trace)
        return .located
      case .lease(let duration): return .leased(try await repository.lease(job.handle, for: duration))
      case .wait(let pause):
        try? await clock.sleep(for: pause)
        return .waited
      case .save(let contents, let base):
        return .saved(
          try await repository.update(base, by: .refreshOutcome(under: state.lease)) { $0 = contents })
      case .addKey(let live): return .keyAdded(try await repository.withKey(live, job.issuer, state.lease))
      case .request(let live):
        do throws(SessionError) {
          return .answered(try await grants.request(live, job.requirement.slot, job.issuer, job.trace))
        } catch {
          return .rejected(error)
        }
      case .validate(let idToken, let token, let live):
        return .validated(
          await shared.idTokens.verdict(onRefreshed: idToken, token, of: live, at: job.issuer))
      case .finish(let outcome): return .saved(try outcome.get())
      }
    } catch {
      return .failed(error)
    }
  }

  private func apply(_ effect: RefreshState.Effect, _ job: Job) async {
    let observer = shared.observer
    let name = job.issuer.issuer.name
    switch effect {
    case .setBackoff(let backoff?):
      backoffs.withLock { $0.set(backoff, for: job.name, of: job.uid) }
    case .setBackoff(nil): backoffs.withLock { $0.remove(job.name) }
    case .announce(let live): observer?.observe(.refreshed(live.session, uid: live.uid))
    case .announceEnd(let live): observer?.observe(.ended(live.handle, issuer: name, uid: live.uid))
    case .reportIDToken(let fault): observer?.observe(.idTokenRejected(issuer: name, fault: fault))
    case .revokeOrphaned(let answer, let uid): shared.revocation.revokeOrphaned(answer, job.issuer, of: uid)
    case .register(let contents, let uid): await profiles.register(contents, ownedBy: uid, at: job.issuer)
    }
  }
}
