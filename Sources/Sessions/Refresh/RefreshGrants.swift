import OAuthClient
import PosternSupport

/// Requests another token for a session, by the grants it has.
struct RefreshGrants: Sendable {
  let shared: SessionDependencies
  let implicit: ImplicitLogin
  let singleSignOn: SingleSignOn
  let suspended = SuspendedRefreshes()

  /// Another token: with the refresh token; by the grant that made the session only where there is none, or the issuer
  /// returns `invalid_grant`. No other failure leads to another grant: an outage stays an outage.
  func request(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> RefreshedToken {
    try ImplicitLogin.checkScope(of: live.contents, slot)
    if live.contents.kind == .implicit { _ = try await implicit.permission(of: live, at: issuer, in: call) }
    guard let refreshToken = live.contents.grant.refreshToken else {
      return try await requestAgain(live, slot, issuer, in: call)
    }
    let form =
      GrantForm.refreshToken(refreshToken) + slot.form
      + (slot.audience == nil ? TokenSlot.resource(live.contents.grant.resource) : [])
    do throws(TokenError) {
      return RefreshedToken(
        answer: try await shared.requests.token(form, at: issuer.issuer, key: live.key, in: call), slot: slot)
    } catch {
      let error = SessionError(ofRefresh: error)
      guard error.isFinal, live.contents.hasOtherGrant else { throw error }
    }
    var token = try await requestAgain(live, slot, issuer, in: call)
    token.dropsRefreshToken = true
    return token
  }

  private func requestAgain(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> RefreshedToken {
    switch live.contents.kind {
    case .implicit: try await implicit.logInAgain(live, slot, issuer, in: call)
    case .user: try await authorizeAgain(live, slot, issuer, in: call)
    }
  }

  /// Requests another token by single sign-on. A request that the access manager suspends is sent once: until the user
  /// has done what it requires, all callers that need the token get the same advice; then the original request is
  /// continued.
  private func authorizeAgain(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> RefreshedToken {
    let slot = singleSignOn.slot(of: live, needed: slot)
    let known = suspended.next(of: live, slot, at: shared.clock.monotonicNow)
    if let known, !known.isReleased { throw SessionError(known.authorization) }
    do throws(SessionError) {
      return try await singleSignOn.authorizeAgain(live, slot, issuer, releasing: known?.authorization, in: call)
    } catch {
      if case .adviceRequired(let authorization) = error.kind {
        suspended.hold(authorization, of: live, at: shared.clock.monotonicNow)
      }
      throw error
    }
  }
}

extension SessionContents {
  /// Whether another token can be requested without a refresh token: by the grant of an implicit session, or by a
  /// single sign-on token.
  var hasOtherGrant: Bool { kind == .implicit || signOn.token != nil }

  /// Whether another token is requested by a grant that is not bound to the scope of the first one.
  var mayGetOtherScopes: Bool {
    kind == .implicit || grant.refreshToken == nil && signOn.token != nil && !grant.isRejected
  }
}
