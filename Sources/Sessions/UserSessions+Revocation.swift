import HTTPMessages
public import OAuthClient
public import PosternSupport
import SessionRecords

extension UserSessions {
  /// Revokes a token at its issuer (RFC 7009), for the peer `owner`; `sharedToken` for one that is everybody's.
  public func revoke(
    _ token: Secret<String>, hint: String?, at issuer: SessionIssuer, for owner: UInt32, deadline: Deadline = .never,
    trace: TraceContext? = nil
  ) async throws(SessionError) {
    try await finish(for: owner, by: deadline, isWritten: false) { [self] () async throws(SessionError) in
      try await revoke(token, hint: hint, at: issuer, trace: trace)
    }
  }

  /// Revokes the session's refresh token, or its access token where it has none. The session stays, and has no token
  /// any more.
  public func revokeTokens(
    of handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer, deadline: Deadline = .never,
    trace: TraceContext? = nil
  ) async throws(SessionError) {
    let live = try await live(handle, ownedBy: owner)
    try check(live, issuer)
    try await finish(for: owner, by: deadline) { [self] () async throws(SessionError) in
      // A renewal that comes in between brings tokens that are revoked in the next round.
      while true {
        guard let current = try await read(handle) else { throw .notFound }
        let contents = state.withLock { $0.unsaved[handle.key] } ?? current.contents
        if let token = contents.refreshToken {
          try await revoke(Secret(token), hint: "refresh_token", at: issuer, trace: trace)
        } else if let token = contents.tokens.first(where: { $0.slot == .session }) {
          try await revoke(Secret(token.value), hint: "access_token", at: issuer, trace: trace)
        }
        if try await forgetTokens(of: current) { return }
      }
    }
  }

  func revoke(
    _ token: Secret<String>, hint: String?, at issuer: SessionIssuer, timeout: Duration = ProviderClient.timeout,
    trace: TraceContext?
  ) async throws(SessionError) {
    // Whoever has it: the fetches of everybody else carry it.
    guard deviceTokens?.isShared(token, at: issuer.issuer) != true else { throw .sharedToken }
    var form = [(name: "token", value: token.reveal())]
    if let hint { form.append((name: "token_type_hint", value: hint)) }
    do throws(TokenError) {
      let answer = try await requests.provider.post(
        form, to: .revocation, of: issuer.issuer, maxBytes: TokenResponse.maxBytes,
        for: .token(issuer.issuer.name), timeout: timeout, trace: trace)
      // RFC 7009 section 2.2: 200 also for a token that is not good any more.
      guard answer.response.status == 200 else {
        throw TokenResponse.failure(answer.response, of: "revocation endpoint")
      }
    } catch {
      throw SessionError(error)
    }
  }

  /// What was revoked is not given out any more, nor used to renew with. False when somebody else wrote first.
  private func forgetTokens(of live: LiveSession) async throws(SessionError) -> Bool {
    var contents = live.contents
    contents.refreshToken = nil
    contents.tokens = []
    if !contents.isRenewable { contents.expiresAt = clock.wallNow.millisecondsSinceEpoch }
    let record = StoredRecord(
      key: live.handle.key, owner: live.owner, version: live.version + 1,
      expiresAt: contents.purgeable(at: clock.wallNow),
      contents: try storable(contents))
    do throws(StoreError) {
      try await replace(record, under: nil)
    } catch {
      if error.kind == .conflict { return false }
      throw SessionError(error)
    }
    state.withLock { $0.unsaved.remove(live.handle.key) }
    forgetChoices(of: live.owner)
    keep(contents, of: live.handle, owner: live.owner, version: record.version)
    if !contents.isRenewable {
      observer?.observe(.ended(live.handle, issuer: contents.issuer, owner: live.owner))
    }
    return true
  }
}
