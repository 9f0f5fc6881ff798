public import Support

extension UserSessions {
  /// An access token of the session, for `scope` and `audience`: fresh, or renewed now.
  ///
  /// With `rejected`, one that is newer than that. A token that lives at least `minimumLife` longer; nil: one that is fresh.
  /// While the issuer is out of reach a token that has not really expired is still given out.
  public func token(
    of handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer, scope: String? = nil,
    audience: String? = nil, replacing rejected: AccessToken? = nil, minimumLife: Duration? = nil,
    deadline: Deadline = .never, trace: TraceContext? = nil
  ) async throws(SessionError) -> AccessToken {
    // A run that somebody else began may bring what another slot needed; one's own brings all there is to be had.
    for _ in 0..<Self.maxRenewals {
      let live = try await live(handle, ownedBy: owner)
      try check(live, issuer)
      try checkTerms(live, issuer)
      let slot = live.slot(scope: scope, audience: audience)
      let now = clock.monotonicNow
      let wanted = Wanted(slot: slot, rejected: rejected, minimumLife: minimumLife)
      if let token = wanted.token(of: live, at: now) {
        scheduleRenewal(of: token, in: live, slot, issuer, at: now)
        return token
      }
      do throws(SingleFlightError<SessionError>) {
        let renewed = try await renewals.value(for: handle.key, deadline: deadline) {
          [self] () async throws(SessionError) in try await renew(handle, wanted, issuer, trace)
        }
        let now = clock.monotonicNow
        if let token = wanted.token(of: renewed, at: now, afterRenewal: true) {
          scheduleRenewal(of: token, in: renewed, slot, issuer, at: now)
          return token
        }
      } catch {
        let error = SessionError(error)
        guard let token = wanted.standIn(of: live, at: clock.monotonicNow, for: error) else { throw error }
        return token
      }
    }
    let fault = TokenError(.malformed, "the token endpoint gives the refused token again, or one that has expired")
    throw SessionError(fault)
  }

  /// How often one call may wait for a renewal: an issuer that answers with the same token, or with a dead one, would be asked
  /// without end.
  private static let maxRenewals = 3

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
