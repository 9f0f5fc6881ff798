import Support

extension UserSessions {
  /// Ends a session that was renewed with somebody else's tokens (OpenID Connect Core section 12.2).
  func refuse(
    _ contents: SessionContents, after live: LiveSession, _ lease: RecordLease?, _ issuer: SessionIssuer,
    because fault: TokenFault
  ) async throws(SessionError) -> LiveSession {
    var contents = contents
    contents.tokens = []
    _ = try await end(contents, after: live, lease, issuer)
    throw SessionError(
      .expired, "the issuer renewed the session with another user's tokens", upstreamCode: fault.code.rawValue)
  }

  /// Why there is no new token. A final refusal ends the session's renewals for good; everything else leaves it as it was: an
  /// outage never logs anybody out. Where somebody else has renewed the session meanwhile it is as it should be.
  func refused(
    _ live: LiveSession, _ lease: RecordLease?, _ fault: RenewalFault, _ issuer: SessionIssuer
  ) async throws(SessionError) -> LiveSession {
    guard fault.isFinal else { throw fault.error }
    let ended = try await end(live.contents, after: live, lease, issuer)
    guard ended.contents.isRefused else { return ended }
    throw fault.error
  }

  /// No more renewals: the user has to log in again once the token at hand has expired.
  private func end(
    _ contents: SessionContents, after live: LiveSession, _ lease: RecordLease?, _ issuer: SessionIssuer
  ) async throws(SessionError) -> LiveSession {
    var contents = contents
    contents.isRefused = true
    contents.refreshToken = nil
    let last = contents.tokens.map(\.expiresAt).max() ?? clock.wallNow
    contents.expiresAt = max(last, clock.wallNow).millisecondsSinceEpoch
    let written = try await write(contents, after: live, lease)
    if written.contents.isRefused {
      observer?.observe(.ended(live.handle, issuer: issuer.issuer.name, owner: live.owner))
    }
    return written
  }

  /// Stores what a renewal that began with `live` brought.
  func write(
    _ contents: SessionContents, after live: LiveSession, _ lease: RecordLease?
  ) async throws(SessionError) -> LiveSession {
    var base = live
    var lease = lease
    while true {
      let record = StoredRecord(
        key: base.handle.key, owner: base.owner, version: base.version + 1,
        expiresAt: contents.purgeable(at: clock.wallNow),
        contents: try storable(contents))
      do throws(StoreError) {
        try await replace(record, under: lease)
        state.withLock { $0.unsaved[record.key] = nil }
        if contents.expiresAt != base.contents.expiresAt { forgetChoices(of: base.owner) }
        return keep(contents, of: base.handle, owner: base.owner, version: record.version)
      } catch {
        state.withLock { state in
          state.sessions[record.key] = nil
          // What the issuer has given may not be had again: it is kept here until the store takes it.
          if error.kind == .unavailable { state.unsaved[record.key] = contents }
        }
        guard error.kind == .conflict || error.kind == .leaseLost else { throw SessionError(error) }
      }
      // The lease ran out before the issuer had answered, and somebody else wrote. Ended meanwhile: the new tokens are nobody's.
      guard let current = try await read(base.handle) else { throw .notFound }
      // Theirs are the newer tokens, unless all they had was the refusal of a token that has been used here, or nothing new. A newer
      // login goes before whatever the old one has got.
      guard !current.contents.hasNewerLogin(than: live.contents),
        current.contents.isRefused || current.contents.refreshToken == live.contents.refreshToken
      else { return current }
      base = current
      lease = nil
    }
  }
}

extension SessionContents {
  /// Whether the user has logged in since. Without a refresh token only a login brings an ID token.
  fileprivate func hasNewerLogin(than other: SessionContents) -> Bool {
    ssoToken != other.ssoToken || refreshToken == nil && other.refreshToken == nil && idToken != other.idToken
  }
}
