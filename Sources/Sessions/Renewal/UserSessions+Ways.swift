import OAuthClient

extension UserSessions {
  /// Asks for another token: with the refresh token first; by what else made the session only when there is none, or
  /// the issuer says `invalid_grant` to it. Whatever else goes wrong is no reason to try another way: an outage stays
  /// an outage.
  func ask(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async throws(RenewalFault) -> Renewal {
    do throws(SessionError) {
      try checkReach(live.contents, slot)
      if live.contents.kind == .implicit { _ = try await standing(of: live, issuer) }
    } catch {
      throw RenewalFault(error)
    }
    guard let refreshToken = live.contents.refreshToken else {
      return try await askAgain(live, slot, issuer, trace)
    }
    let form =
      [(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: refreshToken)] + slot.form
      + (slot.audience == nil ? TokenSlot.resource(live.contents.resource) : [])
    do throws(TokenError) {
      return Renewal(
        answer: try await requests.token(form, at: issuer.issuer, key: live.key, trace: trace), slot: slot)
    } catch {
      let fault = RenewalFault(error)
      guard fault.isFinal, live.contents.hasAnotherWay else { throw fault }
    }
    var renewal = try await askAgain(live, slot, issuer, trace)
    renewal.dropsRefreshToken = true
    return renewal
  }

  private func askAgain(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async throws(RenewalFault) -> Renewal {
    switch live.contents.kind {
    case .implicit: return try await logInAgain(live, slot, issuer, trace)
    case .user: return try await authorizeOnce(live, slot, issuer, trace)
    }
  }
}

extension SessionContents {
  /// Whether another token can be had without a refresh token: by the grant of an implicit session, or by a single
  /// sign-on token.
  var hasAnotherWay: Bool { kind == .implicit || ssoToken != nil }
}
