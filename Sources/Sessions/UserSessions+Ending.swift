public import OAuthClient
public import PosternSupport
import SessionRecords

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

  /// How long the issuer has to end a session, all of its endpoints together.
  static let upstreamPatience = Duration.seconds(30)

  /// Ends the session: here at once, whatever the network does, then at the issuer (RFC 7009, RP-initiated logout).
  ///
  /// `issuer` nil: it is not configured any more.
  public func end(
    _ handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer?, deadline: Deadline = .never,
    trace: TraceContext? = nil
  ) async throws(SessionError) -> UpstreamEnd {
    let live: LiveSession
    do throws(SessionError) {
      live = try await self.live(handle, ownedBy: owner)
    } catch {
      guard case .store(let fault) = error.kind, fault.kind == .corrupted else { throw error }
      return try await removeDamaged(handle, owner)
    }
    // What comes after its one write is the issuer's affair.
    return try await finish(for: owner, by: deadline, isWritten: false) { [self] () async throws(SessionError) in
      try await end(live, at: issuer, trace)
    }
  }

  /// A session that cannot be read is forgotten: nothing is known of what to end at its issuer. Its handle alone says
  /// whose it is.
  private func removeDamaged(_ handle: SessionHandle, _ owner: UInt32) async throws(SessionError) -> UpstreamEnd {
    do throws(StoreError) {
      guard try await store.remove(handle.key) else { throw StoreError(.conflict, "") }
    } catch {
      throw error.kind == .conflict ? .notFound : SessionError(error)
    }
    forgetUpkeep(of: handle.key, ownedBy: owner)
    forgetChoices(of: owner)
    return .none
  }

  private func end(
    _ live: LiveSession, at issuer: SessionIssuer?, _ trace: TraceContext?
  ) async throws(SessionError) -> UpstreamEnd {
    let key = live.handle.key
    let taken: StoredRecord?
    do throws(StoreError) {
      taken = try await store.take(key)
    } catch {
      throw SessionError(error)
    }
    let unsaved = state.withLock { state in
      defer {
        state.ended.set(true, for: key, of: live.owner)
        state.sessions.remove(key)
        state.unsaved.remove(key)
        state.held.remove(key)
      }
      return state.unsaved[key]
    }
    forgetUpkeep(of: key, ownedBy: live.owner)
    forgetChoices(of: live.owner)
    guard let taken else { throw .notFound }
    let contents = unsaved ?? SessionContents(taken) ?? live.contents
    // Of one that the issuer had ended this process has told; others have their own subscribers.
    if !contents.isRefused || isShared {
      observer?.observe(.ended(live.handle, issuer: live.contents.issuer, owner: live.owner))
    }
    guard let issuer, (try? check(live, issuer)) != nil else { return .none }
    // The newest tokens, which the cached copy may not have.
    return await endUpstream(contents, issuer, trace)
  }

  /// Everything at once and under one bound: a session has up to 32 tokens, and each call may take half a minute.
  private func endUpstream(
    _ contents: SessionContents, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async -> UpstreamEnd {
    var tokens = contents.refreshToken.map { [(Secret($0), "refresh_token")] } ?? []
    // By themselves too: not every issuer takes a grant's access tokens along with its refresh token (RFC 7009 section
    // 2.1, SHOULD).
    for token in contents.tokens where token.expiresAt > clock.wallNow {
      tokens.append((Secret(token.value), "access_token"))
    }
    return await withTaskGroup(of: UpstreamEnd?.self) { group in
      var waiting = tokens.count
      for (token, hint) in tokens {
        group.addTask { [self] in await attempt(token, hint, at: issuer, trace) }
      }
      if let idToken = contents.idToken {
        waiting += 1
        group.addTask { [self] in await requests.provider.endSession(idToken, at: issuer.issuer, trace: trace) }
      }
      if let token = contents.ssoToken {
        waiting += 1
        group.addTask { [self] in await endSSO(token, at: issuer, trace: trace) }
      }
      group.addTask { [clock] in
        try? await clock.sleep(for: Self.upstreamPatience)
        return nil
      }
      var outcomes: [UpstreamEnd] = []
      while outcomes.count < waiting {
        guard let outcome = await group.next() ?? nil else {
          outcomes.append(.failed)
          break
        }
        outcomes.append(outcome)
      }
      group.cancelAll()
      if outcomes.contains(.failed) { return .failed }
      return outcomes.contains(.ended) ? .ended : .none
    }
  }

  private func attempt(
    _ token: Secret<String>, _ hint: String, at issuer: SessionIssuer, _ trace: TraceContext?
  ) async -> UpstreamEnd {
    do throws(SessionError) {
      try await revoke(token, hint: hint, at: issuer, trace: trace)
      return .ended
    } catch {
      switch error.kind {
      // Nowhere to say so; or others go on with the token.
      case .grantNotSupported, .sharedToken: return .none
      default: return .failed
      }
    }
  }
}
