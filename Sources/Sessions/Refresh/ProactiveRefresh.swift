import OAuthClient
import PosternSupport
import SessionRecords

/// Refreshes tokens that are in use before they expire, and announces the end of sessions that cannot be refreshed.
///
/// A token is refreshed between 75 % and 88 % of its life, at another point for each session, so that sessions that
/// began together do not refresh together. A token that is not used is left to expire: a session is not kept alive at
/// its issuer by the sidecar alone.
struct ProactiveRefresh: SessionPart {
  /// Tokens and sessions of a shorter life are left alone.
  private static let shortestLife = Duration.seconds(10)
  /// How long before its end a session's is announced, or a tenth of its life.
  private static let longestNotice = Duration.seconds(300)
  /// When a failed refresh is retried.
  private static let retryPause = Duration.seconds(15)

  let shared: SessionDependencies
  let refresher: TokenRefresher

  private var schedules: SessionSchedules { repository.schedules }

  /// From when on the token is refreshed; nil when it is not.
  static func instant(of token: AccessToken, of handle: SessionHandle) -> MonotonicInstant? {
    guard let lifetime = token.lifetime, lifetime >= shortestLife else { return nil }
    let share = Int(handle.key.id.first ?? 0) % 14
    return token.expiry + (.zero - lifetime * (12 + share) / 100)
  }

  /// The announcement of the end of a session that cannot be refreshed; nil where there is none.
  static func endNotice(of live: LiveSession, on clock: any EngineClock) -> SessionDuty? {
    guard !live.contents.isRefreshable, let expiresAt = live.contents.life.expiresAt else { return nil }
    let end = Timestamp(millisecondsSinceEpoch: expiresAt)
    let life = end - Timestamp(millisecondsSinceEpoch: live.contents.life.createdAt)
    let notice = min(longestNotice, life / 10)
    let remaining = end - clock.wallNow
    guard life >= shortestLife, remaining > notice else { return nil }
    return SessionDuty(
      handle: live.handle, uid: live.uid, duty: .endNotice, due: clock.monotonicNow + (remaining - notice),
      expiresAt: end)
  }

  /// Does what is due until the calling task is cancelled. `issuer` returns the issuer of a name as it is configured
  /// now.
  ///
  /// Sleeps in short pieces: after a machine was suspended, what became due meanwhile is done at once.
  func run(issuer: @escaping @Sendable (String) -> SessionIssuer?) async {
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
          await CurrentPeer.$uid.withValue(due.uid) { await perform(due, issuer) }
          schedule.end(due)
          entry = schedule.begin(dueAt: clock.monotonicNow)
        }
      }
    }
  }

  private func perform(_ entry: SessionDuty, _ issuer: (String) -> SessionIssuer?) async {
    // Nothing is due for a session that has ended.
    guard let live = try? await repository.live(entry.handle, ownedBy: entry.uid) else { return }
    switch entry.duty {
    case .endNotice:
      guard live.session.expiresAt == entry.expiresAt else { return }
      observer?.observe(.expiring(live.session, uid: live.uid))
    case .refresh(let slot):
      guard let token = live.tokens[slot], token.expiresAt == entry.expiresAt,
        let issuer = issuer(live.contents.issuer.name)
      else { return }
      await refresh(FoundToken(token: token, slot: slot, live: live), issuer)
    }
  }

  /// Schedules the refresh of a token that has just been returned; starts it now if it is late.
  func schedule(_ found: FoundToken, _ issuer: SessionIssuer) {
    let live = found.live
    let now = clock.monotonicNow
    guard live.contents.isRefreshable, found.token.isFresh(at: now),
      let due = Self.instant(of: found.token, of: live.handle)
    else { return }
    guard due <= now else { return add(found, due: due) }
    guard refresher.isIdle(live.handle, found.slot, at: now) else { return }
    Task { await refresh(found, issuer) }
  }

  private func add(_ found: FoundToken, due: MonotonicInstant) {
    repository.add(
      SessionDuty(
        handle: found.live.handle, uid: found.live.uid, duty: .refresh(found.slot), due: due,
        expiresAt: found.token.expiresAt), to: schedules.refreshes)
  }

  /// When it fails, the token is used until it expires, and the refresh is retried before.
  private func refresh(_ found: FoundToken, _ issuer: SessionIssuer) async {
    let live = found.live
    let requirement = TokenRequirement(slot: found.slot, rejected: found.token, minimumLife: nil)
    do throws(SessionError) {
      try live.check(issuer)
      // A run for another token is as good as none: the next call that needs this one tries again.
      _ = try await refresher.refresh(live.handle, ownedBy: live.uid, requirement, issuer, nil).outcome.get()
    } catch {
      observer?.observe(.refreshFailed(live.handle, issuer: issuer.issuer.name, error: error))
      let again = clock.monotonicNow + Self.retryPause
      guard case .unreachable = error.kind, again < found.token.expiry else { return }
      add(found, due: again)
    }
  }
}
