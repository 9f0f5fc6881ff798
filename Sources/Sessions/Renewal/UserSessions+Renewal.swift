import JOSE
import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords
import TokenValidation

extension UserSessions {
  /// How long a lease is asked for: longer than a token request can take.
  static let leaseDuration = ProviderClient.timeout + .seconds(10)
  /// A renewal that may also go by way of the access manager: refresh token, cookie name, authorization, code.
  static let longLeaseDuration = ProviderClient.timeout * 4 + .seconds(10)
  /// How long to wait between looks at a session that another process renews.
  static let leasePause = Duration.milliseconds(50)

  /// One renewal, run by the single flight: nobody else in this process renews this session meanwhile.
  ///
  /// The order is what keeps a rotating refresh token: the answer is durable in the store before its token is used by
  /// anybody, and nobody sends a refresh token that somebody else may have sent already. Nothing but the token request
  /// itself happens under the lease.
  func renew(
    _ handle: SessionHandle, _ wanted: TokenRequirement, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async throws(SessionError) -> LiveSession {
    guard let live = try await read(handle) else { throw .notFound }
    if wanted.token(of: live, at: clock.monotonicNow) != nil { return live }
    try canRenew(live)
    let name = RefreshKey(key: handle.key, slot: wanted.slot)
    if let refusal = state.withLock({ $0.backoffs[name] })?.refusal(at: clock.monotonicNow) {
      throw SessionError(refusal)
    }
    do throws(TokenError) {
      _ = try await requests.provider.url(of: .token, at: issuer.issuer, trace: trace)
    } catch {
      throw SessionError(error)
    }
    return try await store.whileHeld(SessionError.init) { () async throws(SessionError) in
      try await renew(live, wanted, issuer, trace)
    }
  }

  private func renew(
    _ live: LiveSession, _ wanted: TokenRequirement, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async throws(SessionError) -> LiveSession {
    let handle = live.handle
    guard let granted = try await lease(live, unless: { wanted.token(of: $0, at: self.clock.monotonicNow) != nil })
    else { return try await renewedElsewhere(handle) }
    var lease: RecordLease? = granted
    let outcome: Result<LiveSession, SessionError>
    do throws(SessionError) {
      outcome = .success(try await renewed(handle, wanted, issuer, &lease, trace))
    } catch {
      outcome = .failure(error)
    }
    if let lease { await store.release(lease) }
    return try outcome.get()
  }

  /// The lease of the session's record, waited for; nil when the session is as it should be meanwhile.
  private func lease(
    _ live: LiveSession, unless isDone: (LiveSession) -> Bool = { _ in false }
  ) async throws(SessionError) -> RecordLease? {
    let duration = live.contents.hasAnotherWay ? Self.longLeaseDuration : Self.leaseDuration
    let patience = clock.monotonicNow + duration
    while true {
      do throws(StoreError) {
        if let lease = try await store.lease(live.handle.key, for: duration) { return lease }
      } catch {
        throw SessionError(error)
      }
      guard clock.monotonicNow < patience else {
        throw SessionError(StoreError(.unavailable, "another process holds the session's lease for too long"))
      }
      try? await clock.sleep(for: Self.leasePause)
      guard let now = try await read(live.handle) else { throw .notFound }
      if isDone(now) { return nil }
      try canRenew(now)
    }
  }

  private func renewedElsewhere(_ handle: SessionHandle) async throws(SessionError) -> LiveSession {
    guard let live = try await read(handle) else { throw .notFound }
    return live
  }

  private func canRenew(_ live: LiveSession) throws(SessionError) {
    guard live.contents.isRenewable else {
      throw SessionError(.expired, "the user has to log in again")
    }
  }

  /// Under the lease: looks again, asks, stores.
  private func renewed(
    _ handle: SessionHandle, _ wanted: TokenRequirement, _ issuer: SessionIssuer, _ lease: inout RecordLease?,
    _ trace: TraceContext?
  ) async throws(SessionError) -> LiveSession {
    guard var live = try await read(handle) else { throw .notFound }
    if let unsaved = state.withLock({ $0.unsaved[handle.key] }) {
      live = try await write(unsaved, after: live, lease)
    }
    if wanted.token(of: live, at: clock.monotonicNow) != nil { return live }
    try canRenew(live)
    live = try await withKey(live, issuer, lease)
    let name = RefreshKey(key: handle.key, slot: wanted.slot)
    let renewal: Renewal
    do throws(RenewalFault) {
      renewal = try await ask(live, wanted.slot, issuer, trace)
    } catch {
      if let failure = error.error.tokenError {
        state.withLock { state in
          let backoff = TokenBackoff(
            afterRenewal: failure, previous: state.backoffs[name], now: clock.monotonicNow)
          if let backoff {
            state.backoffs.set(backoff, for: name, of: live.owner)
          } else {
            state.backoffs.remove(name)
          }
        }
      }
      return try await refused(live, lease, error, issuer)
    }
    state.withLock { $0.backoffs.remove(name) }
    do throws(SessionError) {
      return try await take(renewal, live, &lease, issuer)
    } catch {
      // The session was ended while its renewal was at the issuer: what came must not live on there.
      if case .notFound = error.kind { revokeOrphaned(renewal.answer, issuer, of: live.owner) }
      throw error
    }
  }

  /// Stores what came, then lets it be used.
  private func take(
    _ renewal: Renewal, _ live: LiveSession, _ lease: inout RecordLease?, _ issuer: SessionIssuer
  ) async throws(SessionError) -> LiveSession {
    let answer = renewal.answer
    var contents = live.contents
    // Nobody was there whom an ID token of an implicit session could speak of.
    guard let idToken = answer.response.idToken, contents.kind == .user else {
      contents.take(renewal)
      return announce(try await write(contents, after: live, lease))
    }
    // A refresh token that rotates has just become the only one: it is stored first. The access token is nobody's to
    // use until it is clear whose it is.
    var stored = live
    if let refreshToken = answer.response.refreshToken {
      contents.refreshToken = refreshToken
      stored = try await write(contents, after: live, lease)
    }
    // To fetch keys may take longer than a lease lasts.
    if let held = lease { await store.release(held) }
    lease = nil
    let verdict = await verdict(onRenewed: idToken, live, renewal, issuer)
    if renewal.expectations != nil { try demand(verdict) }
    lease = try await self.lease(stored)
    guard let current = try await read(live.handle) else { throw .notFound }
    // Somebody else has renewed it since, with the refresh token of this renewal, or taken its tokens away.
    guard current.version == stored.version else { return current }
    if let fault = verdict?.fault { observer?.observe(.idTokenRefused(issuer: issuer.issuer.name, fault: fault)) }
    if let fault = Self.otherUser(verdict, idToken, after: contents) {
      revokeOrphaned(answer, issuer, of: live.owner)
      return try await refuse(contents, after: stored, lease, issuer, because: fault)
    }
    switch verdict {
    case .valid(let claims, _, _, _):
      contents.take(idToken, claims)
      // A login that was kept before it could be exchanged: the same user's, as its ID token says.
      if renewal.expectations != nil { contents.unprovenSSOToken = nil }
    // No keys to judge it with, or not what it should be: the claims stay what they are.
    case nil, .invalid: break
    }
    contents.take(renewal)
    let renewed = announce(try await write(contents, after: stored, lease))
    if issuer.implicit?.needsIDToken == true { await register(contents, ownedBy: live.owner, at: issuer) }
    return renewed
  }

  /// Why the tokens that came are another user's; nil when nothing says so. What an ID token reports counts here
  /// although it cannot be verified: tokens that come with another user's name are not used for this one, genuine or
  /// not.
  private static func otherUser(
    _ verdict: TokenVerdict?, _ idToken: String, after contents: SessionContents
  ) -> TokenFault? {
    if let fault = verdict?.fault, fault.code == .refreshMismatch, fault.claim == "sub" || fault.claim == "iss" {
      return fault
    }
    guard let subject = contents.subject,
      let told = (try? CompactJWS(idToken).unverifiedClaims())?["sub"]?.stringValue, !told.hasSameBytes(as: subject)
    else { return nil }
    return TokenFault(.refreshMismatch, "sub does not continue the session's", claim: "sub")
  }

  private func announce(_ live: LiveSession) -> LiveSession {
    observer?.observe(.refreshed(live.session, owner: live.owner))
    return live
  }

  /// The verdict on the ID token that came with a renewal: whether it follows the one before (OpenID Connect Core
  /// section 12.2). Nil when there are no keys to judge it with: the claims stay what they are.
  private func verdict(
    onRenewed idToken: String, _ live: LiveSession, _ renewal: Renewal, _ issuer: SessionIssuer
  ) async -> TokenVerdict? {
    if let expectations = renewal.expectations {
      return await verdict(onAuthorizedAgain: idToken, live, expectations, issuer)
    }
    let flow: TokenFlow = live.contents.idToken.map { .refresh(previous: $0) } ?? .code
    let expectations = IDTokenExpectations(
      clientID: issuer.issuer.clientID, accessToken: Secret(renewal.answer.response.accessToken), flow: flow)
    return try? await verdict(on: idToken, expectations, at: issuer)
  }
}
