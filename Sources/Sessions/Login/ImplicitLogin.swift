import OAuthClient
import PosternSupport

/// Logs registered profiles in by client authentication, without a user.
struct ImplicitLogin: SessionPart {
  let shared: SessionDependencies
  let creation: SessionCreation

  private var profiles: ProfileRegistry { creation.profiles }

  /// Creates a session of the profile that `uid` has of `subject`.
  func create(
    _ subject: String, at issuer: SessionIssuer, uid: UInt32, trace: TraceContext?
  ) async throws(SessionError) -> Session {
    guard let access = issuer.implicit else {
      throw .grantNotSupported("implicit access is not configured for this issuer")
    }
    guard let profile = try await profiles.profile(subject, at: issuer, ownedBy: uid) else {
      throw SessionError(
        .authorizationFailed, "no profile of that subject is registered for this peer at this issuer",
        upstreamCode: "profile_unknown")
    }
    let handle = SessionHandle.random()
    var contents = SessionContents(handle, at: issuer, kind: .implicit, createdAt: clock.wallNow)
    contents.subject = profile.subject
    contents.implicit = access.terms
    contents.expiresAt = profile.expiresAt.millisecondsSinceEpoch
    contents.dpopKey = try issuer.newKey()
    let form = try access.form(for: profile, at: issuer.issuer, scope: access.scope)
    let key = try DPoPKey.recorded(contents.dpopKey)
    let reservation = try await repository.reserve(contents, of: handle, uid: uid)
    let answer: TokenRequests.Answer
    do throws(TokenError) {
      answer = try await requests.token(form, at: issuer.issuer, key: key, trace: trace)
    } catch {
      await repository.cancel(reservation)
      throw SessionError(error)
    }
    contents.scope = answer.response.scope ?? access.scope
    contents.take(answer, in: .session)
    return try await creation.fill(reservation, with: contents, from: answer, at: issuer).session
  }

  /// Throws where an implicit session was created under other terms than are configured now.
  static func checkTerms(of live: LiveSession, at issuer: SessionIssuer) throws(SessionError) {
    guard live.contents.kind == .implicit else { return }
    guard let access = issuer.implicit else {
      throw .grantNotSupported("implicit access is not configured for this issuer any more")
    }
    guard live.contents.implicit == access.terms else {
      throw SessionError(.expired, "implicit access is configured otherwise since: a new session is needed")
    }
  }

  /// Throws where a token for `slot` would be for more than is configured, or was granted at first.
  static func checkScope(of contents: SessionContents, _ slot: TokenSlot) throws(SessionError) {
    guard contents.kind == .implicit, let requested = slot.scope, let most = contents.implicit?.scope ?? contents.scope
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
    of live: LiveSession, at issuer: SessionIssuer
  ) async throws(SessionError) -> (ImplicitAccess, Profile) {
    try Self.checkTerms(of: live, at: issuer)
    guard let access = issuer.implicit, let subject = live.contents.subject,
      let profile = try await profiles.profile(subject, at: issuer, ownedBy: live.uid)
    else { throw SessionError(.expired, "the session's profile is not registered any more: its user has to log in") }
    return (access, profile)
  }

  /// Another token for an implicit session, by the grant that made it.
  func logInAgain(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async throws(RefreshError) -> RefreshedToken {
    let form: [(name: String, value: String)]
    let expiresAt: Timestamp
    do throws(SessionError) {
      let (access, profile) = try await permission(of: live, at: issuer)
      expiresAt = profile.expiresAt
      form =
        try access.form(for: profile, at: issuer.issuer, scope: slot.scope ?? access.scope)
        + TokenSlot(scope: nil, audience: slot.audience).form
    } catch {
      throw RefreshError(error)
    }
    do throws(TokenError) {
      return RefreshedToken(
        answer: try await requests.token(form, at: issuer.issuer, key: live.key, trace: trace), slot: slot,
        expiresAt: expiresAt)
    } catch {
      throw RefreshError(error)
    }
  }
}
