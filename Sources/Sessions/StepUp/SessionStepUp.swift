import HTTPMessages
package import OAuthClient
import PosternJSON
package import PosternSupport
import SessionRecords
import TokenValidation

/// Replaces a session's login, and all of its tokens, by a stronger or more recent one of the same user.
package struct SessionStepUp: SessionPart {
  let shared: SessionDependencies
  let codeLogin: CodeLogin
  let singleSignOn: SingleSignOn
  let refresher: TokenRefresher

  /// The single sign-on token of a user's session; nil where it was made without.
  package func ssoToken(
    of handle: SessionHandle, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> Secret<String>? {
    let live = try await repository.live(handle, in: call)
    try live.check(issuer)
    guard live.contents.kind == .user else { throw .invalid("a user's session is needed", path: ["session"]) }
    return live.contents.signOn.token.map { Secret($0) }
  }

  /// Puts a newer single sign-on token into the session, and the tokens it gives in place of the old ones, all at once.
  ///
  /// They must be the same user's. Then the old single sign-on session is ended, with its own token: nothing of the new
  /// one ever goes along with that. Where the issuer cannot exchange the token now, or suspends that for advice, the
  /// session keeps its tokens and has the newer login. `releasing` is a suspended authorization, which is continued.
  package func replaceLogin(
    _ handle: SessionHandle, at issuer: SessionIssuer, with token: Secret<String>,
    releasing suspended: SuspendedAuthorization? = nil, in call: CallScope
  ) async throws(SessionError) {
    guard AccessManager.isToken(token.reveal()) else {
      throw SessionError(TokenError(.malformed, "the access manager gave a token that cannot be sent in a cookie"))
    }
    var live: LiveSession
    do throws(SessionError) {
      live = try await repository.live(handle, in: call)
      try live.check(issuer)
      live = try await repository.withKey(live, issuer, in: call)
    } catch {
      // The session has ended meanwhile, for example: the login is not used.
      _ = await singleSignOn.end(token.reveal(), at: issuer, in: call)
      throw error
    }
    let refresh: RefreshedToken
    let claims: JSONObject?
    do throws(SessionError) {
      refresh = try await singleSignOn.authorizeAgain(
        live.with(ssoToken: token), .session, issuer, releasing: suspended, in: call)
      claims = try await stepUpClaims(refresh, live, issuer, call)
    } catch {
      await keepOrEnd(token, after: error, live, isReleased: suspended != nil, issuer, call)
      throw error
    }
    // The token that is there then: another journey may have been faster.
    var old: String?
    do throws(SessionError) {
      try await replaceTokens(of: live, with: refresh.answer, claims, issuer, in: call) { contents in
        old = contents.signOn.token
        contents.signOn.token = token.reveal()
        contents.signOn.unprovenToken = nil
      }
    } catch {
      if !error.keepsChange { _ = await singleSignOn.end(token.reveal(), at: issuer, in: call) }
      throw error
    }
    refresher.suspended.remove(handle)
    end(old, replacedBy: token, at: issuer, in: call)
  }

  /// Keeps a login that cannot be exchanged now: the old one may be gone already. Ends one that cannot be exchanged at
  /// all, or that no session will have.
  private func keepOrEnd(
    _ token: Secret<String>, after error: SessionError, _ live: LiveSession, isReleased: Bool,
    _ issuer: SessionIssuer, _ call: CallScope
  ) async {
    switch error.kind {
    // The user denied a further step: the login is valid all the same.
    case .authorizationFailed where isReleased && error.upstreamCode != IDTokenVerification.otherUser: return
    case .authorizationFailed, .expired: break
    default:
      // Its user is checked when it is used, where the session's is known.
      guard live.contents.user.subject != nil else {
        // Its user gets a further step first.
        if error.isAdvice { return }
        break
      }
      var old: String?
      do throws(SessionError) {
        let updated = try await repository.update(live.record, by: .reapply, in: call) { contents in
          guard !contents.isReplaced else { return }
          old = contents.signOn.token
          contents.signOn.token = token.reveal()
          contents.signOn.unprovenToken = token.reveal()
        }
        guard !updated.contents.isReplaced else { break }
        observer?.observe(.steppedUp(live.handle, uid: live.uid), in: call)
        end(old, replacedBy: token, at: issuer, in: call)
        return
      } catch {
        if error.keepsChange { return }
      }
    }
    _ = await singleSignOn.end(token.reveal(), at: issuer, in: call)
  }

  /// Ends the login that has been replaced, with its own token, behind the caller.
  private func end(_ old: String?, replacedBy token: Secret<String>, at issuer: SessionIssuer, in call: CallScope) {
    guard let old, old != token.reveal() else { return }
    tasks.revoke(for: call.uid, at: issuer.issuer.name, in: call) { call in
      _ = await singleSignOn.end(old, at: issuer, timeout: TokenRevocation.timeout, in: call.untraced)
    }
  }

  private func stepUpClaims(
    _ refresh: RefreshedToken, _ live: LiveSession, _ issuer: SessionIssuer, _ call: CallScope
  ) async throws(SessionError) -> JSONObject? {
    guard let idToken = refresh.answer.response.idToken, let expectations = refresh.expectations else { return nil }
    let verdict = await idTokens.verdict(onSecondLogin: idToken, of: live, expectations, at: issuer, in: call)
    do throws(SessionError) {
      try IDTokenVerification.require(verdict)
    } catch {
      revocation.revokeOrphaned(refresh.answer, issuer, of: live.uid, in: call)
      throw error
    }
    switch verdict {
    case .valid(let claims, _, _, _): return claims
    default:
      revocation.revokeOrphaned(refresh.answer, issuer, of: live.uid, in: call)
      throw SessionError(
        .authorizationFailed, "the login is another user's than the session",
        upstreamCode: IDTokenVerification.otherUser)
    }
  }

  /// Replaces all tokens of the session; the old ones are revoked when no fetch uses them any more.
  func replaceTokens(
    of live: LiveSession, with answer: TokenRequests.Answer, _ claims: JSONObject?, _ issuer: SessionIssuer,
    in call: CallScope, also change: (inout SessionContents) -> Void = { _ in }
  ) async throws(SessionError) {
    do throws(SessionError) {
      var retired: [RetiredToken] = []
      let updated = try await repository.update(live.record, by: .reapply, in: call) { contents in
        guard !contents.isReplaced else { return }
        retired = contents.revocable(at: clock.wallNow)
        contents.tokens = []
        contents.grant.refreshToken = nil
        contents.grant.isRejected = false
        change(&contents)
        contents.take(answer, in: .session)
        if let idToken = answer.response.idToken, let claims { contents.user.take(idToken, claims) }
      }
      guard !updated.contents.isReplaced else {
        revocation.revokeOrphaned(answer, issuer, of: live.uid, in: call)
        throw SessionError(.expired, "the user has logged in again in the same browser, which replaced the session")
      }
      let stepped = try await repository.notLoggedOut(updated, in: call)
      refresher.setBackoff(nil, of: live.handle, .session, ownedBy: live.uid)
      observer?.observe(.steppedUp(live.handle, uid: live.uid), in: call)
      observer?.observe(.refreshed(stepped.session, uid: live.uid), in: call)
      let kept = Set(stepped.contents.revocable(at: clock.wallNow).map(\.value))
      revocation.retire(retired.filter { !kept.contains($0.value) }, of: live, issuer, in: call)
    } catch {
      if error.isEndOfSession { revocation.revokeOrphaned(answer, issuer, of: live.uid, in: call) }
      throw error
    }
  }

  /// Begins an authorization that replaces a session's login (RFC 9470 section 5), in one of these contexts and not
  /// longer ago than `maxAge`.
  package func beginInBrowser(
    of handle: SessionHandle, at issuer: SessionIssuer, acrValues: [String], maxAge: Int?, in call: CallScope
  ) async throws(SessionError) -> BegunAuthorization {
    guard let redirectURI = issuer.redirectURI else {
      throw .grantNotSupported("the issuer is configured without redirectUri")
    }
    var live = try await repository.live(handle, in: call)
    try live.check(issuer)
    live = try await repository.withKey(live, issuer, in: call)
    var request = AuthorizationRequest(redirectURI: redirectURI)
    let scope = live.contents.grant.scope ?? issuer.scope ?? "openid"
    // The ID token has to name the user.
    request.scope = ScopeText.names("openid", in: scope) ? scope : "openid \(scope)"
    request.acrValues = acrValues
    request.maxAge = maxAge
    request.resource = live.contents.grant.resource
    return try await codeLogin.begin(
      request, at: issuer, LoginOrigin(), dpopKey: live.contents.grant.dpopKey, steppingUp: handle,
      in: call)
  }

  /// Completes the authorization with the URL to which the issuer sent the user back: the session gets the new tokens,
  /// which must be the same user's.
  package func completeInBrowser(
    of handle: SessionHandle, at issuer: SessionIssuer, callback url: String, in call: CallScope
  ) async throws(SessionError) {
    var live = try await repository.live(handle, in: call)
    try live.check(issuer)
    live = try await repository.withKey(live, issuer, in: call)
    let redemption = try await codeLogin.redemption(
      of: url, expecting: nil, LoginOrigin(), { _ in issuer }, steppingUp: handle, in: call)
    let pending = redemption.pending
    try await codeLogin.creation.prepare(issuer, needsKeys: true, in: call)
    try await redemption.claim.take()
    let answer: TokenRequests.Answer
    do throws(TokenError) {
      answer = try await requests.token(
        (redemption.grant.form(scope: nil) ?? []) + TokenSlot.resource(pending.resource), at: issuer.issuer,
        key: live.key, in: call)
    } catch {
      if !error.isAnswer { await redemption.claim.giveBack() }
      throw SessionError(error)
    }
    let claims: JSONObject
    do throws(SessionError) {
      guard let idToken = answer.response.idToken else { throw .missingIDToken }
      let expectations = IDTokenExpectations(
        of: pending, at: issuer, redemption.grant, accessToken: answer.response.accessToken)
      claims = try await idTokens.claims(of: idToken, expectations, at: issuer, in: call)
      guard live.contents.user.isSubject(of: claims) else {
        throw SessionError(
          .authorizationFailed, "the login is another user's than the session",
          upstreamCode: IDTokenVerification.otherUser)
      }
    } catch {
      revocation.revokeOrphaned(answer, issuer, of: live.uid, in: call)
      throw error
    }
    try await replaceTokens(of: live, with: answer, claims, issuer, in: call)
  }

  /// Continues the session's requests that `advices` suspended, after the user has done what they require. Returns
  /// false if none was suspended. Called within `UserTasks.finish`, which keeps the store in this process.
  package func release(
    _ advices: [PolicyAdvice], of handle: SessionHandle, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> Bool {
    guard let slot = refresher.suspended.release(advices, of: handle, at: clock.monotonicNow) else { return false }
    let live = try await repository.live(handle, in: call)
    let need = TokenNeed(rejected: live.tokens[slot])
    for _ in 0..<3 {
      let run = try await refresher.refresh(
        slot, for: need, of: handle, at: issuer, isPart: true, in: call.unbounded)
      // A run that had begun before has not continued anything.
      if case .failure(let error) = run.outcome, case .adviceRequired = error.kind,
        refresher.suspended.isReleased(slot, of: handle)
      {
        continue
      }
      _ = try run.outcome.get()
      if !refresher.suspended.isReleased(slot, of: handle) { break }
    }
    return true
  }

  /// Removes the requests that `advices` suspended: the user has not done what they require.
  package func forgetSuspended(by advices: [PolicyAdvice], of handle: SessionHandle) {
    refresher.suspended.forget(advices, of: handle, at: clock.monotonicNow)
  }
}

extension SessionError {
  /// Whether the change is kept in memory until it can be written.
  fileprivate var keepsChange: Bool { if case .store(let fault) = kind { fault.kind == .unavailable } else { false } }
}

extension LiveSession {
  /// The session as if it had been made from `token`.
  fileprivate func with(ssoToken token: Secret<String>) -> LiveSession {
    var contents = contents
    contents.signOn.token = token.reveal()
    let record = SessionRecord(handle: handle, uid: uid, version: version, contents: contents)
    return LiveSession(record: record, tokens: tokens, key: key, readAt: readAt)
  }
}
