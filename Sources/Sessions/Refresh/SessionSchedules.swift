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
