import AccessManagement
import HTTPMessages
package import OAuthClient
import PosternJSON
package import PosternSupport
import SessionRecords
import TokenValidation

extension UserSessions {
  /// The single sign-on token of a user's session; nil where it was made without.
  package func ssoToken(
    of handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer
  ) async throws(SessionError) -> Secret<String>? {
    let live = try await live(handle, ownedBy: owner)
    try check(live, issuer)
    guard live.contents.kind == .user else { throw .invalid("a user's session is needed", path: "/session") }
    return live.contents.ssoToken.map { Secret($0) }
  }

  /// Puts a newer single sign-on token into the session, and the tokens it gives in place of the old ones, all at once.
  ///
  /// They must be the same user's. Then the old single sign-on session is ended, with its own token: nothing of the new
  /// one ever goes along with that. Where the issuer cannot exchange the token now, or holds that up for advice, the
  /// session keeps its tokens and has the newer login. With `held` it goes on where it was held up.
  package func stepUp(
    _ handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer, with token: Secret<String>,
    releasing held: HeldAuthorization? = nil, trace: TraceContext?
  ) async throws(SessionError) {
    guard AccessManager.isToken(token.reveal()) else {
      throw SessionError(TokenError(.malformed, "the access manager gave a token that cannot stand in a cookie"))
    }
    var live: LiveSession
    do throws(SessionError) {
      live = try await self.live(handle, ownedBy: owner)
      try check(live, issuer)
      live = try await withKey(live, issuer, nil)
    } catch {
      // The session has ended meanwhile, say: nobody will have the login.
      _ = await endSSO(token.reveal(), at: issuer, trace: trace)
      throw error
    }
    let renewal: Renewal
    let claims: JSONObject?
    do throws(SessionError) {
      do throws(RenewalFault) {
        renewal = try await authorizeAgain(
          live.with(ssoToken: token), .session, issuer, releasing: held, trace)
      } catch {
        throw error.error
      }
      claims = try await stepUpClaims(renewal, live, issuer)
    } catch {
      await keepOrEnd(token, after: error, live, isReleased: held != nil, issuer, trace)
      throw error
    }
    // What stands there then: another journey may have been faster.
    var old: String?
    do throws(SessionError) {
      try await replaceTokens(of: live, with: renewal.answer, claims, issuer) { contents in
        old = contents.ssoToken
        contents.ssoToken = token.reveal()
        contents.unprovenSSOToken = nil
      }
    } catch {
      if !error.keepsChange { _ = await endSSO(token.reveal(), at: issuer, trace: trace) }
      throw error
    }
    state.withLock { $0.held.remove(handle.key) }
    endSSO(old, replacedBy: token, at: issuer, of: live.owner)
  }

  /// A login that cannot be exchanged now is the session's all the same: the old one may be gone already. One that
  /// cannot be exchanged at all, or that nobody will have, is ended.
  private func keepOrEnd(
    _ token: Secret<String>, after error: SessionError, _ live: LiveSession, isReleased: Bool,
    _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async {
    switch error.kind {
    // The user was asked for more, and said no: the login is theirs all the same.
    case .authorizationFailed where isReleased && error.upstreamCode != Self.otherUser: return
    case .authorizationFailed, .expired: break
    default:
      // Whose it is will be looked at when it is used, where that can be known.
      guard live.contents.subject != nil else {
        // Its user is asked for more first.
        if error.isAdvice { return }
        break
      }
      var old: String?
      do throws(SessionError) {
        try await change(live) { contents in
          old = contents.ssoToken
          contents.ssoToken = token.reveal()
          contents.unprovenSSOToken = token.reveal()
        }
        observer?.observe(.steppedUp(live.handle, owner: live.owner))
        endSSO(old, replacedBy: token, at: issuer, of: live.owner)
        return
      } catch {
        if error.keepsChange { return }
      }
    }
    _ = await endSSO(token.reveal(), at: issuer, trace: trace)
  }

  /// Ends the login that has been replaced, with its own token, behind the caller.
  private func endSSO(_ old: String?, replacedBy token: Secret<String>, at issuer: SessionIssuer, of owner: UInt32) {
    guard let old, old != token.reveal() else { return }
    revokeInBackground(owner) { [self] in
      _ = await endSSO(old, at: issuer, timeout: Self.revocationTimeout, trace: nil)
    }
  }

  static var otherUser: String { "refresh_mismatch" }

  private func stepUpClaims(
    _ renewal: Renewal, _ live: LiveSession, _ issuer: SessionIssuer
  ) async throws(SessionError) -> JSONObject? {
    guard let idToken = renewal.answer.response.idToken, let expectations = renewal.expectations else { return nil }
    let verdict = await verdict(onAuthorizedAgain: idToken, live, expectations, issuer)
    do throws(SessionError) {
      try demand(verdict)
    } catch {
      revokeOrphaned(renewal.answer, issuer, of: live.owner)
      throw error
    }
    switch verdict {
    case .valid(let claims, _, _, _): return claims
    default:
      revokeOrphaned(renewal.answer, issuer, of: live.owner)
      throw SessionError(
        .authorizationFailed, "the login is another user's than the session", upstreamCode: Self.otherUser)
    }
  }

  /// Everything that the session had at the issuer makes room for what came, and is revoked when nothing uses it any
  /// more.
  func replaceTokens(
    of live: LiveSession, with answer: TokenRequests.Answer, _ claims: JSONObject?, _ issuer: SessionIssuer,
    also change: (inout SessionContents) -> Void = { _ in }
  ) async throws(SessionError) {
    do throws(SessionError) {
      var retired: [RetiredToken] = []
      let stepped = try await self.change(live) { contents in
        retired = contents.retirable(at: clock.wallNow)
        contents.tokens = []
        contents.refreshToken = nil
        contents.isRefused = false
        change(&contents)
        contents.take(answer, in: .session)
        if let idToken = answer.response.idToken, let claims { contents.take(idToken, claims) }
      }
      state.withLock { $0.backoffs.remove(RefreshKey(key: live.handle.key, slot: .session)) }
      observer?.observe(.steppedUp(live.handle, owner: live.owner))
      observer?.observe(.refreshed(stepped.session, owner: live.owner))
      let kept = Set(stepped.contents.retirable(at: clock.wallNow).map(\.value))
      retire(retired.filter { !kept.contains($0.value) }, of: live, issuer)
    } catch {
      if case .notFound = error.kind { revokeOrphaned(answer, issuer, of: live.owner) }
      throw error
    }
  }

  /// Changes a session in one step, on top of whatever else has been written meanwhile.
  @discardableResult
  private func change(
    _ live: LiveSession, _ change: (inout SessionContents) -> Void
  ) async throws(SessionError) -> LiveSession {
    let key = live.handle.key
    for _ in 0..<16 {
      guard let current = try await read(live.handle), current.owner == live.owner else { throw .notFound }
      var contents = state.withLock { $0.unsaved[key] } ?? current.contents
      change(&contents)
      let record = StoredRecord(
        key: key, owner: live.owner, version: current.version + 1, expiresAt: contents.purgeable(at: clock.wallNow),
        contents: try storable(contents))
      do throws(StoreError) {
        try await replace(record, under: nil)
      } catch {
        if error.kind == .conflict { continue }
        if error.kind == .unavailable { state.withLock { $0.unsaved.set(contents, for: key, of: live.owner) } }
        throw SessionError(error)
      }
      state.withLock { $0.unsaved.remove(key) }
      forgetChoices(of: live.owner)
      return keep(contents, of: live.handle, owner: live.owner, version: record.version)
    }
    throw SessionError(StoreError(.conflict, "the session is written to all the time"))
  }
}

extension SessionError {
  /// Whether what could not be written is kept in memory until it can.
  fileprivate var keepsChange: Bool { if case .store(let fault) = kind { fault.kind == .unavailable } else { false } }
}

extension LiveSession {
  /// The session as if it had been made from `token`.
  fileprivate func with(ssoToken token: Secret<String>) -> LiveSession {
    var contents = contents
    contents.ssoToken = token.reveal()
    return LiveSession(
      handle: handle, owner: owner, version: version, contents: contents, tokens: tokens, key: key, readAt: readAt)
  }
}
