import HTTPMessages
public import Support

extension UserSessions {
  /// What became of a session at its issuer.
  public enum UpstreamEnd: String, Sendable {
    /// Its tokens are revoked, its session there is over.
    case ended
    /// Something of that failed.
    case failed
    /// There was nothing to end there, or nowhere to say so.
    case none
  }

  /// Ends the session: here at once, whatever the network does, then at the issuer (RFC 7009, RP-initiated logout).
  ///
  /// `issuer` nil: it is not configured any more.
  public func end(
    _ handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer?, trace: TraceContext? = nil
  ) async throws(SessionError) -> UpstreamEnd {
    let live = try await live(handle, ownedBy: owner)
    let taken: StoredRecord?
    do throws(StoreError) {
      taken = try await store.take(handle.key)
    } catch {
      throw SessionError(error)
    }
    let unsaved = state.withLock { state in
      defer {
        state.ended[handle.key] = true
        state.sessions[handle.key] = nil
        state.unsaved[handle.key] = nil
      }
      return state.unsaved[handle.key]
    }
    guard let taken else { throw .notFound }
    observer?.observe(.ended(handle, issuer: live.contents.issuer, owner: owner))
    guard let issuer, (try? check(live, issuer)) != nil else { return .none }
    // The newest tokens, which the cached copy may not have. What has begun is finished: the caller may be gone, they must be too.
    let contents = unsaved ?? SessionContents(taken) ?? live.contents
    return await Task { [self] in await endUpstream(contents, issuer, trace) }.value
  }

  /// Revokes a token at its issuer (RFC 7009).
  public func revoke(
    _ token: Secret<String>, hint: String?, at issuer: SessionIssuer, trace: TraceContext? = nil
  ) async throws(SessionError) {
    var form = [(name: "token", value: token.reveal())]
    if let hint { form.append((name: "token_type_hint", value: hint)) }
    do throws(TokenError) {
      let answer = try await requests.provider.post(
        form, to: .revocation, of: issuer.issuer, maxBytes: TokenResponse.maxBytes,
        for: .token(issuer.issuer.name), trace: trace)
      // RFC 7009 section 2.2: 200 also for a token that is not good any more.
      guard answer.response.status == 200 else {
        throw TokenResponse.failure(answer.response, of: "revocation endpoint")
      }
    } catch {
      throw SessionError(error)
    }
  }

  /// Revokes the session's refresh token, or its access token where it has none; the session itself stays.
  public func revokeTokens(
    of handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer, trace: TraceContext? = nil
  ) async throws(SessionError) {
    let live = try await live(handle, ownedBy: owner)
    try check(live, issuer)
    if let token = live.contents.refreshToken {
      try await revoke(Secret(token), hint: "refresh_token", at: issuer, trace: trace)
    } else if let token = live.contents.tokens.first(where: { $0.slot == .session }) {
      try await revoke(Secret(token.value), hint: "access_token", at: issuer, trace: trace)
    }
  }

  private func endUpstream(
    _ contents: SessionContents, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async -> UpstreamEnd {
    var outcomes: [UpstreamEnd] = []
    if let token = contents.refreshToken {
      outcomes.append(
        await attempt { () throws(SessionError) in
          try await revoke(Secret(token), hint: "refresh_token", at: issuer, trace: trace)
        })
    }
    // By themselves too: not every issuer takes a grant's access tokens along with its refresh token (RFC 7009 section 2.1, SHOULD).
    for token in contents.tokens where token.expiresAt > clock.wallNow {
      outcomes.append(
        await attempt { () throws(SessionError) in
          try await revoke(Secret(token.value), hint: "access_token", at: issuer, trace: trace)
        })
    }
    if let idToken = contents.idToken {
      outcomes.append(await requests.provider.endSession(idToken, at: issuer.issuer, trace: trace))
    }
    if outcomes.contains(.failed) { return .failed }
    return outcomes.contains(.ended) ? .ended : .none
  }

  private func attempt(_ body: () async throws(SessionError) -> Void) async -> UpstreamEnd {
    do throws(SessionError) {
      try await body()
      return .ended
    } catch {
      if case .grantNotSupported = error.kind { return .none }
      return .failed
    }
  }
}
