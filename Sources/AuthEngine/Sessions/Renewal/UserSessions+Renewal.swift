import JSON
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
    guard !live.contents.isRefused, live.contents.refreshToken != nil else {
      throw SessionError(.expired, "the user has to log in again")
    }
  }

  /// Under the lease: looks again, asks, stores.
  private func renewed(
    _ handle: SessionHandle, _ wanted: Wanted, _ issuer: SessionIssuer, _ lease: RecordLease, _ trace: TraceContext?
  ) async -> Result<LiveSession, SessionError> {
    do throws(SessionError) {
      guard let live = try await read(handle) else { throw SessionError.notFound }
      if wanted.token(of: live, at: clock.monotonicNow) != nil { return .success(live) }
      try canRenew(live)
      let answer: TokenRequests.Answer
      do throws(TokenError) {
        answer = try await requests.token(Self.form(live, wanted.slot), at: issuer.issuer, trace: trace)
      } catch {
        throw try await refused(live, lease, error, issuer)
      }
      return .success(try await take(answer, in: wanted.slot, live, lease, issuer))
    } catch {
      return .failure(error)
    }
  }

  private static func form(_ live: LiveSession, _ slot: TokenSlot) -> [(name: String, value: String)] {
    [
      (name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: live.contents.refreshToken ?? ""),
    ] + slot.form
  }

  /// Stores what came, then lets it be used.
  private func take(
    _ answer: TokenRequests.Answer, in slot: TokenSlot, _ live: LiveSession, _ lease: RecordLease,
    _ issuer: SessionIssuer
  ) async throws(SessionError) -> LiveSession {
    var contents = live.contents
    contents.take(answer, in: slot)
    // A refresh token that rotates has just become the only one: stored first, the ID token looked at afterwards.
    let stored = try await write(contents, after: live, lease)
    guard let idToken = answer.response.idToken else { return announce(stored) }
    guard let claims = await renewedClaims(idToken, live, answer, issuer) else { return announce(stored) }
    contents.take(idToken, claims)
    return announce(try await write(contents, after: stored, lease))
  }

  private func announce(_ live: LiveSession) -> LiveSession {
    observer?.observe(.refreshed(live.session, owner: live.owner))
    return live
  }

  /// The claims of the ID token that came with a renewal, when it follows the one before (OpenID Connect Core section 12.2).
  private func renewedClaims(
    _ idToken: String, _ live: LiveSession, _ answer: TokenRequests.Answer, _ issuer: SessionIssuer
  ) async -> JSONObject? {
    let flow: TokenFlow = live.contents.idToken.map { .refresh(previous: $0) } ?? .code
    let expectations = IDTokenExpectations(
      clientID: issuer.issuer.clientID, accessToken: Secret(answer.response.accessToken), flow: flow)
    // Without keys the claims stay what they are.
    guard let verdict = try? await verdict(on: idToken, expectations, at: issuer) else { return nil }
    switch verdict {
    case .valid(let claims, _, _, _): return claims
    case .invalid(let fault):
      observer?.observe(.idTokenRefused(issuer: issuer.issuer.name, fault: fault))
      return nil
    }
  }

  private func write(
    _ contents: SessionContents, after live: LiveSession, _ lease: RecordLease
  ) async throws(SessionError) -> LiveSession {
    let record = StoredRecord(
      key: live.handle.key, owner: live.owner, version: live.version + 1, expiresAt: contents.purgeable,
      contents: try storable(contents))
    do throws(StoreError) {
      try await store.replace(record, under: lease)
    } catch {
      state.withLock { $0.sessions[live.handle.key] = nil }
      // Ended meanwhile: the new tokens are nobody's.
      if error.kind == .conflict { throw .notFound }
      throw SessionError(error)
    }
    return keep(contents, of: live.handle, owner: live.owner, version: record.version)
  }

  /// Why there is no new token. `invalid_grant` ends the session's renewals for good; everything else leaves it as it was: an
  /// outage never logs anybody out.
  private func refused(
    _ live: LiveSession, _ lease: RecordLease, _ error: TokenError, _ issuer: SessionIssuer
  ) async throws(SessionError) -> SessionError {
    guard case .refused(let oauth?) = error.kind, oauth.code == "invalid_grant" else { return SessionError(error) }
    var contents = live.contents
    contents.isRefused = true
    contents.refreshToken = nil
    contents.expiresAt = clock.wallNow.millisecondsSinceEpoch
    _ = try await write(contents, after: live, lease)
    observer?.observe(.ended(live.handle, issuer: issuer.issuer.name, owner: live.owner))
    return SessionError(
      .expired, "the issuer gives no more tokens: the user has to log in again", upstreamCode: oauth.code)
  }
}
