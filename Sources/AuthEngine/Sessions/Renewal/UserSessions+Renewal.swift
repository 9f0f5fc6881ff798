import Support

extension UserSessions {
  /// How long a lease is asked for: longer than a token request can take.
  static let leaseDuration = ProviderClient.timeout + .seconds(10)
  /// How long to wait between looks at a session that another process renews.
  static let leasePause = Duration.milliseconds(50)

  /// One renewal, run by the single flight: nobody else in this process renews this session meanwhile.
  ///
  /// The order is what keeps a rotating refresh token: the answer is durable in the store before its token is used by
  /// anybody, and nobody sends a refresh token that somebody else may have sent already.
  func renew(
    _ handle: SessionHandle, _ wanted: Wanted, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async throws(SessionError) -> LiveSession {
    let patience = clock.monotonicNow + Self.leaseDuration
    while true {
      guard let live = try await read(handle) else { throw .notFound }
      if wanted.token(of: live, at: clock.monotonicNow) != nil { return live }
      try canRenew(live)
      if let lease = try await lease(handle.key) {
        let outcome = await renewed(handle, wanted, issuer, lease, trace)
        await store.release(lease)
        return try outcome.get()
      }
      guard clock.monotonicNow < patience else {
        throw SessionError(StoreError(.unavailable, "another process holds the session's lease for too long"))
      }
      try? await clock.sleep(for: Self.leasePause)
    }
  }

  private func lease(_ key: RecordKey) async throws(SessionError) -> RecordLease? {
    do throws(StoreError) {
      return try await store.lease(key, for: Self.leaseDuration)
    } catch {
      throw SessionError(error)
    }
  }

  private func canRenew(_ live: LiveSession) throws(SessionError) {
    guard live.contents.isRenewable else {
      throw SessionError(.expired, "the user has to log in again")
    }
  }

  /// Under the lease: looks again, asks, stores.
  private func renewed(
    _ handle: SessionHandle, _ wanted: Wanted, _ issuer: SessionIssuer, _ lease: RecordLease, _ trace: TraceContext?
  ) async -> Result<LiveSession, SessionError> {
    do throws(SessionError) {
      guard var live = try await read(handle) else { throw SessionError.notFound }
      if let unsaved = state.withLock({ $0.unsaved[handle.key] }) {
        live = try await write(unsaved, after: live, lease)
      }
      if wanted.token(of: live, at: clock.monotonicNow) != nil { return .success(live) }
      try canRenew(live)
      live = try await withKey(live, issuer, lease)
      let renewal: Renewal
      do throws(RenewalFault) {
        renewal = try await ask(live, wanted.slot, issuer, trace)
      } catch {
        throw try await refused(live, lease, error, issuer)
      }
      do throws(SessionError) {
        return .success(try await take(renewal, live, lease, issuer))
      } catch {
        if case .notFound = error.kind { revokeNobodys(renewal.answer, issuer) }
        throw error
      }
    } catch {
      return .failure(error)
    }
  }

  /// The session was ended while its renewal was at the issuer: what came must not live on there.
  private func revokeNobodys(_ answer: TokenRequests.Answer, _ issuer: SessionIssuer) {
    let token = answer.response.refreshToken ?? answer.response.accessToken
    let hint = answer.response.refreshToken == nil ? "access_token" : "refresh_token"
    Task { [self] in try? await revoke(Secret(token), hint: hint, at: issuer) }
  }

  /// Stores what came, then lets it be used.
  private func take(
    _ renewal: Renewal, _ live: LiveSession, _ lease: RecordLease, _ issuer: SessionIssuer
  ) async throws(SessionError) -> LiveSession {
    let answer = renewal.answer
    var contents = live.contents
    // Nobody was there whom an ID token of an implicit session could speak of.
    guard let idToken = answer.response.idToken, contents.kind == .user else {
      contents.take(renewal)
      return announce(try await write(contents, after: live, lease))
    }
    // A refresh token that rotates has just become the only one: it is stored first. The access token is nobody's to use until it is
    // clear whose it is.
    var stored = live
    if let refreshToken = answer.response.refreshToken {
      contents.refreshToken = refreshToken
      stored = try await write(contents, after: live, lease)
    }
    switch await verdict(onRenewed: idToken, live, answer, issuer) {
    case .valid(let claims, _, _, _): contents.take(idToken, claims)
    // No keys to judge it with: the claims stay what they are.
    case nil: break
    case .invalid(let fault):
      observer?.observe(.idTokenRefused(issuer: issuer.issuer.name, fault: fault))
      guard fault.code == .refreshMismatch, fault.claim == "sub" || fault.claim == "iss" else { break }
      return try await refuse(contents, after: stored, lease, issuer, because: fault)
    }
    contents.take(renewal)
    let renewed = announce(try await write(contents, after: stored, lease))
    if issuer.implicit?.needsIDToken == true { await register(contents, ownedBy: live.owner, at: issuer) }
    return renewed
  }

  /// Ends a session that was renewed with somebody else's tokens (OpenID Connect Core section 12.2).
  private func refuse(
    _ contents: SessionContents, after live: LiveSession, _ lease: RecordLease, _ issuer: SessionIssuer,
    because fault: TokenFault
  ) async throws(SessionError) -> LiveSession {
    var contents = contents
    contents.tokens = []
    try await end(contents, after: live, lease, issuer)
    throw SessionError(
      .expired, "the issuer renewed the session with another user's tokens", upstreamCode: fault.code.rawValue)
  }

  /// No more renewals: the user has to log in again once the token at hand has expired.
  private func end(
    _ contents: SessionContents, after live: LiveSession, _ lease: RecordLease, _ issuer: SessionIssuer
  ) async throws(SessionError) {
    var contents = contents
    contents.isRefused = true
    contents.refreshToken = nil
    let last = contents.tokens.map(\.expiresAt).max() ?? clock.wallNow
    contents.expiresAt = max(last, clock.wallNow).millisecondsSinceEpoch
    _ = try await write(contents, after: live, lease)
    observer?.observe(.ended(live.handle, issuer: issuer.issuer.name, owner: live.owner))
  }

  private func announce(_ live: LiveSession) -> LiveSession {
    observer?.observe(.refreshed(live.session, owner: live.owner))
    return live
  }

  /// The verdict on the ID token that came with a renewal: whether it follows the one before (OpenID Connect Core section 12.2).
  /// Nil when there are no keys to judge it with: the claims stay what they are.
  private func verdict(
    onRenewed idToken: String, _ live: LiveSession, _ answer: TokenRequests.Answer, _ issuer: SessionIssuer
  ) async -> TokenVerdict? {
    let flow: TokenFlow = live.contents.idToken.map { .refresh(previous: $0) } ?? .code
    let expectations = IDTokenExpectations(
      clientID: issuer.issuer.clientID, accessToken: Secret(answer.response.accessToken), flow: flow)
    return try? await verdict(on: idToken, expectations, at: issuer)
  }

  func write(
    _ contents: SessionContents, after live: LiveSession, _ lease: RecordLease
  ) async throws(SessionError) -> LiveSession {
    let record = StoredRecord(
      key: live.handle.key, owner: live.owner, version: live.version + 1, expiresAt: contents.purgeable,
      contents: try storable(contents))
    do throws(StoreError) {
      try await replace(record, under: lease)
    } catch {
      state.withLock { state in
        state.sessions[live.handle.key] = nil
        // What the issuer has given may not be had again: it is kept here until the store takes it.
        if error.kind == .unavailable { state.unsaved[live.handle.key] = contents }
      }
      // Ended meanwhile: the new tokens are nobody's.
      if error.kind == .conflict { throw .notFound }
      throw SessionError(error)
    }
    state.withLock { $0.unsaved[live.handle.key] = nil }
    return keep(contents, of: live.handle, owner: live.owner, version: record.version)
  }

  /// Writes, a few times over if the store is out of order for a moment.
  private func replace(_ record: StoredRecord, under lease: RecordLease) async throws(StoreError) {
    for pause in [Duration.milliseconds(50), .milliseconds(200), .seconds(1)] {
      do throws(StoreError) {
        return try await store.replace(record, under: lease)
      } catch {
        guard error.kind == .unavailable else { throw error }
        // After `unavailable` a write may have happened all the same.
        if let stored = try? await store.record(for: record.key), stored == record { return }
        try? await clock.sleep(for: pause)
      }
    }
    try await store.replace(record, under: lease)
  }

  /// Why there is no new token. A final refusal ends the session's renewals for good; everything else leaves it as it was: an
  /// outage never logs anybody out.
  private func refused(
    _ live: LiveSession, _ lease: RecordLease, _ fault: RenewalFault, _ issuer: SessionIssuer
  ) async throws(SessionError) -> SessionError {
    guard fault.isFinal else { return fault.error }
    try await end(live.contents, after: live, lease, issuer)
    return fault.error
  }
}
