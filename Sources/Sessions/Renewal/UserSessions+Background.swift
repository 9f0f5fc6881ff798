import OAuthClient
import PosternSupport
import SessionRecords

/// What is done about sessions while nobody asks: tokens in use are renewed before they expire, ends are announced.
///
/// A token that nobody used is left to expire: a session is not kept alive at its issuer by the sidecar alone.
extension UserSessions {
  /// How often what is due is looked for; more rarely while nothing waits. Shorter than the shortest time to anything's
  /// being due.
  public static let backgroundPause = (busy: Duration.seconds(1), idle: Duration.seconds(5))
  /// When one that failed is tried again.
  private static let retryPause = Duration.seconds(15)

  /// Does what falls due until the calling task is cancelled. `issuer` gives the issuer of a name as it is configured
  /// now.
  ///
  /// Sleeps in short pieces: after a machine was suspended, what fell due meanwhile is done at once.
  public func keepFresh(issuer: @escaping @Sendable (String) -> SessionIssuer?) async {
    func pause() -> Duration {
      schedule.isEmpty && announcements.isEmpty ? Self.backgroundPause.idle : Self.backgroundPause.busy
    }
    while (try? await clock.sleep(for: pause())) != nil {
      for schedule in [announcements, schedule] { beginWhatIsDue(in: schedule, issuer: issuer) }
    }
  }

  private func beginWhatIsDue(
    in schedule: RenewalSchedule, issuer: @escaping @Sendable (String) -> SessionIssuer?
  ) {
    while let first = schedule.begin(dueAt: clock.monotonicNow) {
      Task { [self] in
        var entry: RenewalSchedule.Entry? = first
        while let due = entry {
          // In its owner's name: at the store and at the issuer too it is one of the owner's turns.
          await Requesting.$uid.withValue(due.owner) { await perform(due, issuer) }
          schedule.end(due)
          entry = schedule.begin(dueAt: clock.monotonicNow)
        }
      }
    }
  }

  private func perform(_ entry: RenewalSchedule.Entry, _ issuer: (String) -> SessionIssuer?) async {
    // One that is gone, or another's by now, has nothing due.
    guard let live = try? await live(entry.handle, ownedBy: entry.owner) else { return }
    switch entry.duty {
    case .announcement:
      guard live.session.expiresAt == entry.expiresAt else { return }
      observer?.observe(.expiring(live.session, owner: live.owner))
    case .renewal(let slot):
      guard let token = live.tokens[slot], token.expiresAt == entry.expiresAt,
        let issuer = issuer(live.contents.issuer)
      else { return }
      await renewAhead(live, slot, token, issuer)
    }
  }

  /// Has `token`, which has just been given out, renewed before it expires; now if it is late.
  func scheduleRenewal(
    of token: AccessToken, in live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, at now: MonotonicInstant
  ) {
    guard live.contents.isRenewable, let due = ProactiveRefresh.instant(of: token, of: live.handle) else { return }
    guard due <= now else {
      return add(
        .init(handle: live.handle, owner: live.owner, duty: .renewal(slot), due: due, expiresAt: token.expiresAt),
        to: schedule)
    }
    guard renewals.waiterCount(for: live.handle.key) == nil else { return }
    let name = RefreshKey(key: live.handle.key, slot: slot)
    guard state.withLock({ $0.backoffs[name] })?.refusal(at: now) == nil, !waitsForUser(live, at: now) else { return }
    Task { [self] in await renewAhead(live, slot, token, issuer) }
  }

  /// Has the owner of a session that cannot be renewed told before it ends.
  func scheduleAnnouncement(of live: LiveSession, at now: MonotonicInstant) {
    let session = live.session
    guard !live.contents.isRenewable, let end = session.expiresAt,
      let notice = ProactiveRefresh.notice(ofLife: end - session.createdAt)
    else { return }
    let remaining = end - clock.wallNow
    guard remaining > notice else { return }
    add(
      .init(
        handle: live.handle, owner: live.owner, duty: .announcement, due: now + (remaining - notice), expiresAt: end),
      to: announcements)
  }

  private func add(_ entry: RenewalSchedule.Entry, to schedule: RenewalSchedule) {
    schedule.add(entry)
    // One that ended while it was read: what came behind its end must not stay.
    let isEnded = state.withLock { $0.ended[entry.handle.key] != nil }
    if isEnded { schedule.remove(entry.handle.key, of: entry.owner) }
  }

  /// The session of `owner` is over: nothing about it is due.
  func forgetUpkeep(of key: RecordKey, ownedBy owner: UInt32) {
    for schedule in [schedule, announcements] { schedule.remove(key, of: owner) }
  }

  /// A renewal that nobody waits for. When it fails the token is used to its end, and it is tried again before.
  private func renewAhead(_ live: LiveSession, _ slot: TokenSlot, _ token: AccessToken, _ issuer: SessionIssuer) async {
    let wanted = TokenRequirement(slot: slot, rejected: token, minimumLife: nil)
    do throws(SessionError) {
      try check(live, issuer)
      // One for another token is as good as none: whoever needs this one next asks again.
      _ = try await run(live.handle, wanted, issuer, nil).outcome.get()
    } catch {
      observer?.observe(.renewalFailed(live.handle, issuer: issuer.issuer.name, error: error))
      let again = clock.monotonicNow + Self.retryPause
      guard case .unreachable = error.kind, again < token.expiry else { return }
      add(
        .init(
          handle: live.handle, owner: live.owner, duty: .renewal(slot), due: again, expiresAt: token.expiresAt),
        to: schedule)
    }
  }
}
