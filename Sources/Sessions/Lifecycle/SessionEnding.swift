import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords

/// Ends sessions here and at their issuers, and revokes their tokens.
struct SessionEnding: SessionPart {
  /// How long the issuer has to end a session, all of its endpoints together.
  private static let upstreamTimeout = Duration.seconds(30)
  /// How long a session that a login has replaced can be used: another tab of the browser may have it still.
  private static let otherTab = Duration.seconds(60)

  let shared: SessionDependencies
  let singleSignOn: SingleSignOn
  let suspended: SuspendedRefreshes

  /// Ends the session: here at once, whatever the network does, then at the issuer (RFC 7009, RP-Initiated Logout).
  func end(
    _ handle: SessionHandle, at issuer: SessionIssuer?, in call: CallScope
  ) async throws(SessionError) -> UserSessions.UpstreamEnd {
    let live: LiveSession
    do throws(SessionError) {
      live = try await repository.live(handle, in: call)
    } catch {
      guard case .store(let fault) = error.kind, fault.kind == .corrupted else { throw error }
      // Nothing is known of what to end at the issuer.
      try await repository.removeDamaged(handle, in: call)
      return .none
    }
    return try await tasks.untilItsEnd(in: call) { call async throws(SessionError) in
      try await end(live, at: issuer, in: call)
    }
  }

  /// Ends the session that a browser had before its user logged in anew, where that does no harm to the new one.
  ///
  /// To end a session at its issuer is to end its login there, which `sid` names. Where that may be the new session's
  /// login, too, the earlier session ends here alone, and a moment later. The new one does not depend on any of this.
  func replace(
    _ earlier: SessionHandle, by new: Session,
    issuer: @escaping @Sendable (String) throws(SessionError) -> SessionIssuer, in call: CallScope
  ) async {
    guard earlier != new.handle else { return }
    do throws(SessionError) {
      let live = try await repository.live(earlier, in: call)
      let newer = try await repository.live(new.handle, in: call).contents
      guard live.contents.mayBeNeeded(beside: newer, within: Self.otherTab) else {
        guard let contents = try await repository.end(earlier, ownedBy: call.uid, knownAs: live.contents, in: call)
        else { return }
        suspended.remove(earlier)
        announceEnd(of: contents, earlier, call.uid, call)
        guard let issuer = try? issuer(contents.issuer.name), (try? live.check(issuer)) != nil else { return }
        return tasks.revoke(for: call.uid, at: issuer.issuer.name, in: call) { call in
          _ = await endUpstream(contents, issuer, in: call)
        }
      }
      suspended.remove(earlier)
      let end = (clock.wallNow + Self.otherTab).millisecondsSinceEpoch
      try await repository.update(live.record, by: .reapply, in: call) { contents in
        contents.isReplaced = true
        contents.grant.refreshToken = nil
        contents.signOn = SessionContents.SignOn()
        let last = contents.tokens.map(\.expiresAt.millisecondsSinceEpoch).max()
        contents.life.expiresAt = [end, contents.life.expiresAt, last].compactMap(\.self).min()
      }
    } catch {
      guard !error.isEndOfSession else { return }
      observer?.observe(.troubled("a browser's earlier session may be left", detail: error.detail), in: call)
    }
  }

  private func end(
    _ live: LiveSession, at issuer: SessionIssuer?, in call: CallScope
  ) async throws(SessionError) -> UserSessions.UpstreamEnd {
    // The newest tokens, which the cached copy may not have.
    let contents = try await repository.end(live.handle, ownedBy: live.uid, knownAs: live.contents, in: call)
    suspended.remove(live.handle)
    guard let contents else { throw .notFound }
    announceEnd(of: contents, live.handle, live.uid, call)
    // The issuer's login may be that of the session which has replaced it.
    guard let issuer, (try? live.check(issuer)) != nil, !contents.isReplaced else { return .none }
    // Only this waits for others: the session is over here whatever the issuer does.
    do throws(SessionError) {
      return try await tasks.counted(.end, at: issuer.issuer.name, in: call) {
        await endUpstream(contents, issuer, in: call)
      }
    } catch {
      // Too many ends are waiting for this issuer: it is told when it has time, and the caller does not wait for that.
      tasks.revoke(for: live.uid, at: issuer.issuer.name, in: call) { call in
        _ = await endUpstream(contents, issuer, in: call)
      }
      return .failed
    }
  }

  func endHere(
    _ handle: SessionHandle, ownedBy uid: UInt32, in call: CallScope
  ) async throws(SessionError) -> [RetiredToken]? {
    guard let contents = try await repository.end(handle, ownedBy: uid, in: call) else { return nil }
    suspended.remove(handle)
    announceEnd(of: contents, handle, uid, call)
    return contents.revocable(at: clock.wallNow)
  }

  /// This process has announced the end of one that its issuer had ended; other processes have their own subscribers.
  private func announceEnd(of contents: SessionContents, _ handle: SessionHandle, _ uid: UInt32, _ call: CallScope) {
    guard !contents.grant.isRejected || repository.isShared else { return }
    observer?.observe(.ended(handle, issuer: contents.issuer.name, uid: uid), in: call)
  }

  /// All requests at once and with one timeout: a session has up to 32 tokens, and each request may take half a minute.
  private func endUpstream(
    _ contents: SessionContents, _ issuer: SessionIssuer, in call: CallScope
  ) async -> UserSessions.UpstreamEnd {
    let tokens = contents.revocable(at: clock.wallNow)
    return await withTaskGroup(of: UserSessions.UpstreamEnd?.self) { group in
      var waiting = tokens.count
      for token in tokens { group.addTask { await revoke(token, at: issuer, in: call) } }
      if let idToken = contents.user.idToken {
        waiting += 1
        group.addTask { await requests.provider.endSession(idToken, at: issuer.issuer, in: call) }
      }
      if let token = contents.signOn.token {
        waiting += 1
        group.addTask { await singleSignOn.end(token, at: issuer, in: call) }
      }
      group.addTask { [clock] in
        try? await clock.sleep(for: Self.upstreamTimeout)
        return nil
      }
      var outcomes: [UserSessions.UpstreamEnd] = []
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

  private func revoke(
    _ token: RetiredToken, at issuer: SessionIssuer, in call: CallScope
  ) async -> UserSessions.UpstreamEnd {
    do throws(SessionError) {
      try await revocation.revoke(Secret(token.value), hint: token.hint, at: issuer, in: call)
      return .ended
    } catch {
      switch error.kind {
      // There is no endpoint for it, or others use the token.
      case .grantNotSupported, .sharedToken: return .none
      default: return .failed
      }
    }
  }

  /// Revokes the session's refresh token, or its access token where it has none. The session stays, without tokens.
  func revokeTokens(
    of handle: SessionHandle, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) {
    try await repository.live(handle, in: call).check(issuer)
    try await tasks.finish(.end, at: issuer.issuer.name, in: call) { call async throws(SessionError) in
      // Tokens of a refresh that comes in between are revoked in the next round.
      while true {
        guard let current = try await repository.read(handle, in: call) else { throw .notFound }
        let contents = repository.unsaved(handle) ?? current.contents
        if let token = contents.grant.refreshToken {
          try await revocation.revoke(Secret(token), hint: "refresh_token", at: issuer, in: call)
        } else if let token = contents.tokens.first(where: { $0.slot == .session }) {
          try await revocation.revoke(Secret(token.value), hint: "access_token", at: issuer, in: call)
        }
        if try await removeTokens(of: current, in: call) { return }
      }
    }
  }

  /// Removes the tokens that were revoked from the session. False when another write came first.
  private func removeTokens(of live: LiveSession, in call: CallScope) async throws(SessionError) -> Bool {
    let updated: LiveSession
    do throws(SessionError) {
      updated = try await repository.update(live.record, by: .ifUnchanged, in: call) { contents in
        contents.grant.refreshToken = nil
        contents.tokens = []
        if !contents.isRefreshable { contents.life.expiresAt = clock.wallNow.millisecondsSinceEpoch }
      }
    } catch {
      guard !error.isConflict else { return false }
      throw error
    }
    if !updated.contents.isRefreshable {
      observer?.observe(.ended(live.handle, issuer: updated.contents.issuer.name, uid: live.uid), in: call)
    }
    return true
  }
}

extension SessionContents {
  /// Whether the session may be of the same login at the issuer as one that was made just now, or another tab's that
  /// came back at the same time.
  func mayBeNeeded(beside new: SessionContents, within moment: Duration) -> Bool {
    guard issuer.identifier.hasSameBytes(as: new.issuer.identifier) else { return false }
    let isSameUser = user.subject.map { Array($0.utf8) } == new.user.subject.map { Array($0.utf8) }
    guard let own = user.loginID, let other = new.user.loginID else { return isSameUser }
    // An issuer may be configured under several names, with a client each: its logins are the same, and their subjects
    // need not be.
    let isSameClient = issuer.name.hasSameBytes(as: new.issuer.name)
    if own.hasSameBytes(as: other) { return isSameUser || !isSameClient }
    return isSameUser && isSameClient && .milliseconds(new.life.createdAt - life.createdAt) <= moment
  }
}
