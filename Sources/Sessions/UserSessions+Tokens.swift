public import OAuthClient
public import PosternSupport

extension UserSessions {
  /// How often one call may wait for a renewal: an issuer that answers with the same token, or with a dead one, would
  /// be asked without end.
  private static let maxRenewals = 3
  /// How many renewals of the session's other tokens one call may wait for, each in its turn.
  private static let maxTurns = 64
  /// How long a caller waits for a renewal of a token that has not really expired.
  private static let patience = Duration.milliseconds(500)

  /// An access token of the session, for `scope` and `audience`: fresh, or renewed now.
  ///
  /// With `rejected`, one that is newer than that. A token that lives at least `minimumLife` longer; nil: one that is
  /// fresh. While the issuer is out of reach, or takes its time, a token that has not really expired is still given
  /// out. `isNarrow`: never the session's own token in place of one for `scope` and `audience`.
  public func token(
    of handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer, scope: String? = nil,
    audience: String? = nil, isNarrow: Bool = false, replacing rejected: AccessToken? = nil,
    minimumLife: Duration? = nil, deadline: Deadline = .never, trace: TraceContext? = nil
  ) async throws(SessionError) -> AccessToken {
    var runs = 0
    var turns = 0
    while runs < Self.maxRenewals, turns < Self.maxTurns {
      let live = try await live(handle, ownedBy: owner)
      try check(live, issuer)
      try checkTerms(live, issuer)
      guard !live.contents.isRefused else { throw SessionError(.expired, "the user has to log in again") }
      let slot = isNarrow ? TokenSlot(scope: scope, audience: audience) : live.slot(scope: scope, audience: audience)
      let now = clock.monotonicNow
      let wanted = TokenRequirement(slot: slot, rejected: rejected, minimumLife: minimumLife)
      if let token = wanted.token(of: live, at: now) {
        scheduleRenewal(of: token, in: live, slot, issuer, at: now)
        return token
      }
      let spare = wanted.spare(of: live, at: now)
      // One that has been under way takes its time: the token is good, and whoever comes next may have the newer one.
      if let spare, renewals.waiterCount(for: handle.key) != nil { return spare }
      // Such that it is still good when patience ends.
      let patience = spare.map { Deadline(in: min(Self.patience, ($0.expiry - now) / 2), on: clock) } ?? .never
      do throws(SessionError) {
        let run = try await trace.waitingForToken(of: issuer.issuer.name) {
          trace async throws(SessionError) -> RefreshOutcome in
          try await self.run(handle, wanted, issuer, by: deadline.earlier(patience), trace)
        }
        let now = clock.monotonicNow
        if case .success(let renewed) = run.outcome,
          let token = wanted.token(of: renewed, after: live.tokens[slot], at: now)
        {
          scheduleRenewal(of: token, in: renewed, slot, issuer, at: now)
          return token
        }
        // Somebody's run for another of the session's tokens: next it may be this one's turn.
        if run.isSilent(about: slot) {
          turns += 1
          continue
        }
        runs += 1
        _ = try run.outcome.get()
      } catch {
        if let token = await standIn(for: error, wanted, live, spare: spare) { return token }
        // Patience ended, but not before the token did.
        if case .deadlineExceeded = error.kind, !deadline.hasPassed(on: clock) {
          runs += 1
          continue
        }
        throw error
      }
    }
    guard turns < Self.maxTurns else {
      throw SessionError(
        .overloaded(retryAfter: .seconds(1)), "too many of the session's other tokens are renewed first")
    }
    let fault = TokenError(.malformed, "the token endpoint gives the refused token again, or one that has expired")
    throw SessionError(fault)
  }

  /// The token to go on with after a renewal failed with `error`.
  private func standIn(
    for error: SessionError, _ wanted: TokenRequirement, _ live: LiveSession, spare: AccessToken?
  ) async -> AccessToken? {
    guard !isRefused(live.handle) else { return nil }
    let now = clock.monotonicNow
    let spare = spare.flatMap { $0.expiry > now ? $0 : nil }
    switch error.kind {
    case .unreachable: return wanted.standIn(of: live, at: now)
    case .deadlineExceeded, .tokenEndpoint, .grantNotSupported, .adviceRequired, .store: return spare
    case .expired:
      // The last token is good to its end, unless it has been taken away.
      let current = try? await self.live(live.handle, ownedBy: live.owner)
      return spare.flatMap { current?.tokens[wanted.slot]?.value == $0.value ? $0 : nil }
    default: return nil
    }
  }

  /// Renews the session's token now, whatever is left of the one at hand.
  public func refresh(
    _ handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer, deadline: Deadline = .never,
    trace: TraceContext? = nil
  ) async throws(SessionError) -> Session {
    let current = try await live(handle, ownedBy: owner)
    _ = try await token(
      of: handle, ownedBy: owner, at: issuer, replacing: current.tokens[.session], deadline: deadline, trace: trace)
    return try await session(handle, ownedBy: owner)
  }

  /// Whether the session may be used with `issuer` as it is configured now.
  func check(_ live: LiveSession, _ issuer: SessionIssuer) throws(SessionError) {
    let contents = live.contents
    guard contents.issuer == issuer.issuer.name, contents.issuerIdentifier == issuer.issuer.identifier,
      contents.clientID == issuer.issuer.clientID
    else { throw SessionError(.issuerUnknown, "the session belongs to another issuer or client than is configured") }
  }
}
