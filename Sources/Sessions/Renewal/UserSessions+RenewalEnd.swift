import OAuthClient
import PosternSupport
import SessionRecords
import TokenValidation

extension UserSessions {
  /// Ends a session that was renewed with somebody else's tokens (OpenID Connect Core section 12.2).
  func refuse(
    _ contents: SessionContents, after live: LiveSession, _ lease: RecordLease?, _ issuer: SessionIssuer,
    because fault: TokenFault
  ) async throws(SessionError) -> LiveSession {
    _ = try await end(contents, after: live, lease, issuer)
    throw SessionError(
      .expired, "the issuer renewed the session with another user's tokens", upstreamCode: fault.code.rawValue)
  }

  /// Why there is no new token. A final refusal ends the session's renewals for good; everything else leaves it as it
  /// was: an outage never logs anybody out. Where somebody else has renewed the session meanwhile it is as it should
  /// be.
  func refused(
    _ live: LiveSession, _ lease: RecordLease?, _ fault: RenewalFault, _ issuer: SessionIssuer
  ) async throws(SessionError) -> LiveSession {
    guard fault.isFinal else { throw fault.error }
    let ended = try await end(live.contents, after: live, lease, issuer)
    guard ended.contents.isRefused else { return ended }
    throw fault.error
  }

  /// The session is over: the user has to log in again. The access tokens that are left go with it, whatever life they
  /// have: the issuer has ended the grant they were issued for.
  private func end(
    _ contents: SessionContents, after live: LiveSession, _ lease: RecordLease?, _ issuer: SessionIssuer
  ) async throws(SessionError) -> LiveSession {
    var contents = contents
    contents.isRefused = true
    contents.refreshToken = nil
    contents.tokens = []
    contents.expiresAt = clock.wallNow.millisecondsSinceEpoch
    let written: LiveSession
    do throws(SessionError) {
      written = try await write(contents, after: live, lease)
    } catch {
      // The store has not taken it, and will: here it is over now.
      if isRefused(live.handle) { tellEnd(of: live, issuer) }
      throw error
    }
    if written.contents.isRefused { tellEnd(of: live, issuer) }
    return written
  }

  private func tellEnd(of live: LiveSession, _ issuer: SessionIssuer) {
    observer?.observe(.ended(live.handle, issuer: issuer.issuer.name, owner: live.owner))
  }

  /// The session, with the end that its issuer gave it and the store has not taken yet: the record must not bring its
  /// tokens back.
  func withUnsavedEnd(_ live: LiveSession) async throws(SessionError) -> LiveSession {
    let key = live.handle.key
    guard !live.contents.isRefused, let unsaved = state.withLock({ $0.unsaved[key] }), unsaved.isRefused else {
      return live
    }
    let written = try await write(unsaved, after: live, nil)
    // Where the user has logged in since, nothing is written.
    state.withLock { $0.unsaved.remove(key) }
    return written
  }

  /// Whether the issuer has ended the session, as far as this process knows without asking the store.
  func isRefused(_ handle: SessionHandle) -> Bool {
    state.withLock { state in
      (state.unsaved[handle.key] ?? state.sessions[handle.key]?.contents)?.isRefused ?? false
    }
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
        state.withLock { $0.unsaved.remove(record.key) }
        if contents.expiresAt != base.contents.expiresAt { forgetChoices(of: base.owner) }
        return keep(contents, of: base.handle, owner: base.owner, version: record.version)
      } catch {
        state.withLock { state in
          state.sessions.remove(record.key)
          // What the issuer has given may not be had again: it is kept here until the store takes it.
          if error.kind == .unavailable { state.unsaved.set(contents, for: record.key, of: record.owner) }
        }
        guard error.kind == .conflict || error.kind == .leaseLost else { throw SessionError(error) }
      }
      // The lease ran out before the issuer had answered, and somebody else wrote. Ended meanwhile: the new tokens are
      // nobody's.
      guard let current = try await read(base.handle) else { throw .notFound }
      // Theirs are the newer tokens, unless all they had was the refusal of a token that has been used here, or nothing
      // new. A newer login goes before whatever the old one has got.
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
