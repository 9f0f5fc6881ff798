import PosternSupport
import SessionRecords

/// Schedules background work for sessions, fairly between uids: none gets all concurrent slots.
///
/// Bounded: what does not fit is left to the next call that needs it. The uid with most entries loses one first.
final class RefreshSchedule: Sendable {
  /// The kinds of work; a session has one entry of each.
  enum Duty: Sendable, Hashable {
    /// A token that is in use is refreshed before it expires.
    case refresh(TokenSlot)
    /// The end of the session is announced.
    case endNotice
  }

  /// One thing to do.
  struct Entry: Sendable {
    let handle: SessionHandle
    let uid: UInt32
    let duty: Duty
    let due: MonotonicInstant
    /// When the token or the session expires: an entry about an older token has another time.
    let expiresAt: Timestamp
  }

  private struct State {
    var schedules: [UInt32: UserSchedule] = [:]
    var count = 0
    var underWay = 0
    var starts: UInt64 = 0

    /// Changes what there is of one uid.
    mutating func change<Result>(_ uid: UInt32, _ body: (inout UserSchedule) -> Result) -> Result {
      var own = schedules.removeValue(forKey: uid) ?? UserSchedule()
      let before = own.count
      let result = body(&own)
      count += own.count - before
      if !own.isEmpty { schedules[uid] = own }
      return result
    }
  }

  /// How many entries there may be.
  static let capacity = 65_536
  /// How many may be under way at a time.
  static let slots = 16
  /// A uid may have so many times what is still free.
  private static let share = FairShare.times

  private let state = Locked(State())
  private let capacity: Int

  init(capacity: Int = RefreshSchedule.capacity) { self.capacity = capacity }

  /// Whether there is nothing to do, ever.
  var isEmpty: Bool { state.withLock { $0.count == 0 } }
  /// How many are under way.
  var underWay: Int { state.withLock { $0.underWay } }
  /// The number of positions, those of entries that are due at another time by now included.
  var positionCount: Int { state.withLock { $0.schedules.values.reduce(0) { $0 + $1.positionCount } } }

  /// Adds `entry`, in place of one about an older token, unless it is there already.
  func add(_ entry: Entry) {
    state.withLock { state in
      if state.count >= capacity, state.schedules[entry.uid]?.isKnown(entry) != true {
        let own = state.schedules[entry.uid]?.count ?? 0
        guard let most = state.schedules.max(by: { $0.value.count < $1.value.count }), most.value.count > own else {
          return
        }
        state.change(most.key) { $0.drop() }
      }
      state.change(entry.uid) { $0.add(entry) }
    }
  }

  /// Removes what is due for a session of `uid` that is over: its capacity is free at once.
  func remove(_ key: RecordKey, of uid: UInt32) {
    state.withLock { state in
      guard state.schedules[uid] != nil else { return }
      state.change(uid) { $0.remove(key) }
    }
  }

  /// Takes out one that is due at `now` and may begin: of the uid of whom least is under way. `end` must follow.
  func begin(dueAt now: MonotonicInstant) -> Entry? {
    state.withLock { state in
      while let uid = Self.next(in: state, at: now) {
        state.starts += 1
        let latestStart = state.starts
        let entry = state.change(uid) { own -> Entry? in
          guard let entry = own.next(dueAt: now) else { return nil }
          own.underWay += 1
          own.latestStart = latestStart
          return entry
        }
        guard let entry else { continue }
        state.underWay += 1
        return entry
      }
      return nil
    }
  }

  /// It is done.
  func end(_ entry: Entry) {
    state.withLock { state in
      state.underWay -= 1
      state.change(entry.uid) { $0.underWay -= 1 }
    }
  }

  private static func next(in state: State, at now: MonotonicInstant) -> UInt32? {
    let free = slots - state.underWay
    var best: (uid: UInt32, own: UserSchedule)?
    for (uid, own) in state.schedules where own.underWay < share * free && own.hasDue(at: now) {
      guard let other = best?.own, (other.underWay, other.latestStart) <= (own.underWay, own.latestStart) else {
        best = (uid, own)
        continue
      }
    }
    return best?.uid
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
