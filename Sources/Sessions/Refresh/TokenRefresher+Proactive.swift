import OAuthClient
import PosternSupport
import SessionRecords

/// Refreshes tokens that are in use before they expire, and announces the end of sessions that cannot be refreshed.
///
/// A token is refreshed between 75 % and 88 % of its life, at another point for each session, so that sessions that
/// began together do not refresh together. A token that is not used is left to expire: a session is not kept alive at
/// its issuer by the sidecar alone.
extension TokenRefresher {
  /// When a failed refresh is retried.
  private static let retryPause = Duration.seconds(15)

  private var schedules: SessionSchedules { repository.schedules }

  /// From when on the token is refreshed; nil when it is not.
  static func instant(of token: AccessToken, of handle: SessionHandle) -> MonotonicInstant? {
    guard let lifetime = token.lifetime, lifetime >= SessionDuty.shortestLife else { return nil }
    let share = Int(handle.key.id.first ?? 0) % 14
    return token.expiry + (.zero - lifetime * (12 + share) / 100)
  }

  /// Does what is due until the calling task is cancelled. `issuer` returns the issuer of a name as it is configured
  /// now.
  ///
  /// Sleeps in short pieces: after a machine was suspended, what became due meanwhile is done at once.
  func keepFresh(issuer: @escaping @Sendable (String) -> SessionIssuer?) async {
    func pause() -> Duration {
      schedules.isEmpty ? UserSessions.backgroundPause.idle : UserSessions.backgroundPause.busy
    }
    while (try? await clock.sleep(for: pause())) != nil {
      for schedule in [schedules.endNotices, schedules.refreshes] { start(schedule, issuer: issuer) }
    }
  }

  private func start(_ schedule: RefreshSchedule, issuer: @escaping @Sendable (String) -> SessionIssuer?) {
    while let first = schedule.begin(dueAt: clock.monotonicNow) {
      Task {
        var entry: SessionDuty? = first
        while let due = entry {
          // Counted as the uid's, at the store and at the issuer, too.
          await perform(due, issuer, in: CallScope(peer: PeerID(uid: due.uid, connection: 0)))
          schedule.end(due)
          entry = schedule.begin(dueAt: clock.monotonicNow)
        }
      }
    }
  }

  private func perform(_ entry: SessionDuty, _ issuer: (String) -> SessionIssuer?, in call: CallScope) async {
    // Nothing is due for a session that has ended.
    guard let live = try? await repository.live(entry.handle, in: call) else { return }
    switch entry.duty {
    case .endNotice:
      guard live.session.expiresAt == entry.expiresAt else { return }
      observer?.observe(.expiring(live.session, uid: live.uid), in: call)
    case .refresh(let slot):
      guard let token = live.tokens[slot], token.expiresAt == entry.expiresAt,
        let issuer = issuer(live.contents.issuer.name)
      else { return }
      await refreshEarly(token, slot, live, issuer, in: call)
    }
  }

  /// Schedules the refresh of a token that has just been returned; starts it now if it is late.
  func schedule(
    _ token: AccessToken, _ slot: TokenSlot, _ live: LiveSession, _ issuer: SessionIssuer, in call: CallScope
  ) {
    let now = clock.monotonicNow
    guard live.contents.isRefreshable, token.isFresh(at: now), let due = Self.instant(of: token, of: live.handle)
    else { return }
    guard due <= now else { return add(token, slot, live, due: due) }
    guard isIdle(live.handle, slot, at: now) else { return }
    Task { await refreshEarly(token, slot, live, issuer, in: call.unbounded.untraced) }
  }

  private func add(_ token: AccessToken, _ slot: TokenSlot, _ live: LiveSession, due: MonotonicInstant) {
    repository.add(
      SessionDuty(
        handle: live.handle, uid: live.uid, duty: .refresh(slot), due: due, expiresAt: token.expiresAt),
      to: schedules.refreshes)
  }

  /// When it fails, the token is used until it expires, and the refresh is retried before.
  private func refreshEarly(
    _ token: AccessToken, _ slot: TokenSlot, _ live: LiveSession, _ issuer: SessionIssuer, in call: CallScope
  ) async {
    do throws(SessionError) {
      try live.check(issuer)
      // A run for another token is as good as none: the next call that needs this one tries again.
      let run = try await refresh(slot, for: TokenNeed(rejected: token), of: live.handle, at: issuer, in: call)
      _ = try run.outcome.get()
    } catch {
      observer?.observe(.refreshFailed(live.handle, issuer: issuer.issuer.name, error: error), in: call)
      let again = clock.monotonicNow + Self.retryPause
      guard case .unreachable = error.kind, again < token.expiry else { return }
      add(token, slot, live, due: again)
    }
  }
}
