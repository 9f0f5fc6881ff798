import OAuthClient
import PosternSupport

/// Logs registered profiles in by client authentication, without a user.
struct ImplicitLogin: SessionPart {
  let shared: SessionDependencies
  let creation: SessionCreation

  private var profiles: ProfileRegistry { creation.profiles }

  /// Creates a session of the profile that the caller has of `subject`.
  func create(
    _ subject: String, at issuer: SessionIssuer, _ origin: LoginOrigin, in call: CallScope
  ) async throws(SessionError) -> Session {
    guard let access = issuer.implicit else {
      throw .grantNotSupported("implicit access is not configured for this issuer")
    }
    guard let profile = try await profiles.profile(subject, at: issuer, in: call) else {
      throw SessionError(
        .authorizationFailed, "no profile of that subject is registered for this peer at this issuer",
        upstreamCode: "profile_unknown")
    }
    let handle = SessionHandle.random()
    var contents = SessionContents(handle, at: issuer, kind: .implicit, createdAt: clock.wallNow)
    contents.user.subject = profile.subject
    contents.grant.implicit = access.terms
    contents.life.expiresAt = profile.expiresAt.millisecondsSinceEpoch
    contents.grant.dpopKey = try issuer.newKey()
    let form: GrantForm.Members
    do throws(TokenError) {
      form = try access.form(
        for: profile.subject, idToken: profile.idToken, at: issuer.issuer, scope: access.scope)
    } catch {
      throw SessionError(error)
    }
    let key = try DPoPKey.recorded(contents.grant.dpopKey)
    contents.path = origin.path
    let room = SessionRoom(issuer: issuer.issuer.name, origin)
    let reservation = try await repository.reserve(contents, of: handle, room, in: call)
    let answer: TokenRequests.Answer
    do throws(TokenError) {
      answer = try await requests.token(form, at: issuer.issuer, key: key, in: call)
    } catch {
      await repository.cancel(reservation, in: call)
      throw SessionError(error)
    }
    contents.grant.scope = answer.response.scope ?? access.scope
    contents.take(answer, in: .session)
    return try await creation.fill(reservation, with: contents, room, from: answer, at: issuer, in: call).session
  }

  /// Throws where an implicit session was created under other terms than are configured now.
  static func checkTerms(of live: LiveSession, at issuer: SessionIssuer) throws(SessionError) {
    guard live.contents.kind == .implicit else { return }
    guard let access = issuer.implicit else {
      throw .grantNotSupported("implicit access is not configured for this issuer any more")
    }
    guard live.contents.grant.implicit == access.terms else {
      throw SessionError(.expired, "implicit access is configured otherwise since: a new session is needed")
    }
  }

  /// Throws where a token for `slot` would be for more than is configured, or was granted at first.
  static func checkScope(of contents: SessionContents, _ slot: TokenSlot) throws(SessionError) {
    let most = contents.grant.implicit?.scope ?? contents.grant.scope
    guard contents.kind == .implicit, let requested = slot.scope, let most
    else { return }
    guard ScopeText.covers(most, requested) else {
      throw SessionError(
        .authorizationFailed, "the scope goes beyond what implicit access may ask for",
        upstreamCode: "insufficient_scope")
    }
  }

  /// The permission of an implicit session to get another token, by any grant: its terms and its profile, as they are
  /// now.
  func permission(
    of live: LiveSession, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> (ImplicitAccess, Profile) {
    try Self.checkTerms(of: live, at: issuer)
    guard let access = issuer.implicit, let subject = live.contents.user.subject,
      let profile = try await profiles.profile(subject, at: issuer, in: call)
    else { throw SessionError(.expired, "the session's profile is not registered any more: its user has to log in") }
    return (access, profile)
  }

  /// Another token for an implicit session, by the grant that made it.
  func logInAgain(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> RefreshedToken {
    let (access, profile) = try await permission(of: live, at: issuer, in: call)
    do throws(TokenError) {
      let form =
        try access.form(
          for: profile.subject, idToken: profile.idToken, at: issuer.issuer, scope: slot.scope ?? access.scope)
        + TokenSlot(scope: nil, audience: slot.audience).form
      return RefreshedToken(
        answer: try await requests.token(form, at: issuer.issuer, key: live.key, in: call), slot: slot,
        expiresAt: profile.expiresAt)
    } catch {
      throw SessionError(ofRefresh: error)
    }
  }
}
