import PosternSupport
import SessionRecords

/// Schedules background work for sessions. What does not fit is left to the next call that needs it.
typealias RefreshSchedule = FairSchedule<SessionDuty>

/// One thing to do for a session.
struct SessionDuty: ScheduledWork {
  /// The kinds of work.
  enum Duty: Sendable, Hashable {
    /// A token that is in use is refreshed before it expires.
    case refresh(TokenSlot)
    /// The end of the session is announced.
    case endNotice
  }

  let handle: SessionHandle
  let uid: UInt32
  let duty: Duty
  let due: MonotonicInstant
  /// When the token or the session expires.
  let expiresAt: Timestamp

  var group: RecordKey { handle.key }

  /// Tokens and sessions of a shorter life are left alone.
  static let shortestLife = Duration.seconds(10)
  /// How long before its end a session's is announced, or a tenth of its life.
  private static let longestNotice = Duration.seconds(300)

  /// The duty to announce the end of `live`; nil for a session that can be refreshed, or lives too short.
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
}

/// The schedules of what is due for sessions without a call.
struct SessionSchedules: Sendable {
  /// Tokens that are refreshed before they expire.
  let refreshes = RefreshSchedule()
  /// Sessions whose end is announced: an announcement waits for no refresh.
  let endNotices = RefreshSchedule()

  var isEmpty: Bool { refreshes.isEmpty && endNotices.isEmpty }

  /// Removes what is due for a session that is over.
  func remove(_ key: RecordKey, of uid: UInt32) {
    refreshes.remove(key, of: uid)
    endNotices.remove(key, of: uid)
  }
}
