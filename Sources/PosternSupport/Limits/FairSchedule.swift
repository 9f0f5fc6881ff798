/// Work that is due at a time, for a group of the work of one uid.
package protocol ScheduledWork: Sendable {
  associatedtype Group: Hashable, Sendable
  associatedtype Duty: Hashable, Sendable

  var uid: UInt32 { get }
  /// Removed together.
  var group: Group { get }
  /// A group has one entry of each.
  var duty: Duty { get }
  var due: MonotonicInstant { get }
  /// Distinguishes entries of the same duty: a newer one has another time.
  var expiresAt: Timestamp { get }
}

/// Schedules background work fairly between uids: none gets all concurrent slots.
///
/// Bounded: what does not fit is left out. The uid with most entries loses one first.
package final class FairSchedule<Entry: ScheduledWork>: Sendable {
  private struct State {
    var schedules: [UInt32: UserSchedule<Entry>] = [:]
    var count = 0
    var underWay = 0
    var starts: UInt64 = 0

    /// Changes what there is of one uid.
    mutating func change<Result>(_ uid: UInt32, _ body: (inout UserSchedule<Entry>) -> Result) -> Result {
      var own = schedules.removeValue(forKey: uid) ?? UserSchedule<Entry>()
      let before = own.count
      let result = body(&own)
      count += own.count - before
      if !own.isEmpty { schedules[uid] = own }
      return result
    }
  }

  /// How many entries there may be.
  package static var capacity: Int { 65_536 }
  /// How many may be under way at a time.
  package static var slots: Int { 16 }
  /// A uid may have so many times what is still free.
  private static var share: Int { FairShare.times }

  private let state = Locked(State())
  private let capacity: Int

  package init(capacity: Int = FairSchedule.capacity) { self.capacity = capacity }

  /// Whether there is nothing to do, ever.
  package var isEmpty: Bool { state.withLock { $0.count == 0 } }
  /// How many are under way.
  package var underWay: Int { state.withLock { $0.underWay } }
  /// The number of positions, those of entries that are due at another time by now included.
  package var positionCount: Int { state.withLock { $0.schedules.values.reduce(0) { $0 + $1.positionCount } } }

  /// Adds `entry`, in place of an older one of its duty, unless it is there already.
  package func add(_ entry: Entry) {
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

  /// Removes what is due for a group of `uid`: its capacity is free at once.
  package func remove(_ group: Entry.Group, of uid: UInt32) {
    state.withLock { state in
      guard state.schedules[uid] != nil else { return }
      state.change(uid) { $0.remove(group) }
    }
  }

  /// Takes out one that is due at `now` and may begin: of the uid of whom least is under way. `end` must follow.
  package func begin(dueAt now: MonotonicInstant) -> Entry? {
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
  package func end(_ entry: Entry) {
    state.withLock { state in
      state.underWay -= 1
      state.change(entry.uid) { $0.underWay -= 1 }
    }
  }

  private static func next(in state: State, at now: MonotonicInstant) -> UInt32? {
    let free = slots - state.underWay
    var best: (uid: UInt32, own: UserSchedule<Entry>)?
    for (uid, own) in state.schedules where own.underWay < share * free && own.hasDue(at: now) {
      guard let other = best?.own, (other.underWay, other.latestStart) <= (own.underWay, own.latestStart) else {
        best = (uid, own)
        continue
      }
    }
    return best?.uid
  }
}
