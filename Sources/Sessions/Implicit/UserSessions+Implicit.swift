package import OAuthClient
import PosternSupport

extension UserSessions {
  /// Logs a registered profile in with the client's own credentials, no user being there.
  package func makeImplicit(
    _ subject: String, at issuer: SessionIssuer, owner: UInt32, trace: TraceContext?
  ) async throws(SessionError) -> Session {
    guard let access = issuer.implicit else {
      throw .grantNotSupported("implicit access is not configured for this issuer")
    }
    guard let profile = try await profile(subject, at: issuer, ownedBy: owner) else {
      throw SessionError(
        .authorizationFailed, "no profile of that subject is registered for this peer at this issuer",
        upstreamCode: "profile_unknown")
    }
    let handle = SessionHandle.random()
    var contents = SessionContents(handle, at: issuer, kind: .implicit, createdAt: clock.wallNow)
    contents.subject = profile.subject
    contents.implicit = access.terms
    contents.expiresAt = profile.expiresAt.millisecondsSinceEpoch
    contents.dpopKey = try newKey(for: issuer)
    let form = try access.form(for: profile, at: issuer.issuer, scope: access.scope)
    let key = try DPoPKey.recorded(contents.dpopKey)
    let place = try await reserve(contents, of: handle, owner: owner)
    let answer: TokenRequests.Answer
    do throws(TokenError) {
      answer = try await requests.token(form, at: issuer.issuer, key: key, trace: trace)
    } catch {
      await giveUp(place)
      throw SessionError(error)
    }
    contents.scope = answer.response.scope ?? access.scope
    contents.take(answer, in: .session)
    return try await settle(contents, in: place, of: handle, madeOf: answer, at: issuer).session
  }

  /// Whether an implicit session may still be used: what it may do must be what is configured now.
  func checkTerms(_ live: LiveSession, _ issuer: SessionIssuer) throws(SessionError) {
    guard live.contents.kind == .implicit else { return }
    guard let access = issuer.implicit else {
      throw .grantNotSupported("implicit access is not configured for this issuer any more")
    }
    guard live.contents.implicit == access.terms else {
      throw SessionError(.expired, "implicit access is configured otherwise since: a new session is needed")
    }
  }

  /// Whether an implicit session may ask for a token for `slot`: never for more than is configured, or was given at
  /// first.
  func checkReach(_ contents: SessionContents, _ slot: TokenSlot) throws(SessionError) {
    guard contents.kind == .implicit, let asked = slot.scope, let most = contents.implicit?.scope ?? contents.scope
    else { return }
    guard ScopeText.covers(most, asked) else {
      throw SessionError(
        .authorizationFailed, "the scope goes beyond what implicit access may ask for",
        upstreamCode: "insufficient_scope")
    }
  }

  /// By what right an implicit session may have another token, whichever way: its terms and its profile, as they are
  /// now.
  func standing(
    of live: LiveSession, _ issuer: SessionIssuer
  ) async throws(SessionError) -> (ImplicitAccess, Profile) {
    try checkTerms(live, issuer)
    guard let access = issuer.implicit, let subject = live.contents.subject,
      let profile = try await profile(subject, at: issuer, ownedBy: live.owner)
    else { throw SessionError(.expired, "the session's profile is not registered any more: its user has to log in") }
    return (access, profile)
  }

  /// Another token for an implicit session, by the grant that made it.
  func logInAgain(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async throws(RenewalFault) -> Renewal {
    let form: [(name: String, value: String)]
    let expiresAt: Timestamp
    do throws(SessionError) {
      let (access, profile) = try await standing(of: live, issuer)
      expiresAt = profile.expiresAt
      form =
        try access.form(for: profile, at: issuer.issuer, scope: slot.scope ?? access.scope)
        + TokenSlot(scope: nil, audience: slot.audience).form
    } catch {
      throw RenewalFault(error)
    }
    do throws(TokenError) {
      return Renewal(
        answer: try await requests.token(form, at: issuer.issuer, key: live.key, trace: trace), slot: slot,
        expiresAt: expiresAt)
    } catch {
      throw RenewalFault(error)
    }
  }
}
