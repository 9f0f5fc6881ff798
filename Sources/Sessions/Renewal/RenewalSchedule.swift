import PosternSupport
import SessionRecords

/// What is to be done about sessions at which time, without anybody asking: in turns of their owners, of whom none has
/// all the places.
///
/// Bounded: what does not fit is left to the next call that needs it. Whoever has most has no room first.
final class RenewalSchedule: Sendable {
  /// What there is one entry of.
  enum Duty: Sendable, Hashable {
    /// A token that is in use is renewed before it expires.
    case renewal(TokenSlot)
    /// The session's owner is told that it ends soon.
    case announcement
  }

  /// One thing to do.
  struct Entry: Sendable {
    let handle: SessionHandle
    let owner: UInt32
    let duty: Duty
    let due: MonotonicInstant
    /// When the token or the session expires: tells an entry from one about its predecessor.
    let expiresAt: Timestamp
  }

  private struct State {
    var agendas: [UInt32: OwnerAgenda] = [:]
    var count = 0
    var underWay = 0
    var turns: UInt64 = 0

    /// Changes what there is of one owner.
    mutating func change<Result>(_ owner: UInt32, _ body: (inout OwnerAgenda) -> Result) -> Result {
      var agenda = agendas.removeValue(forKey: owner) ?? OwnerAgenda()
      let before = agenda.count
      let result = body(&agenda)
      count += agenda.count - before
      if !agenda.isEmpty { agendas[owner] = agenda }
      return result
    }
  }

  /// How many entries there may be.
  static let capacity = 65_536
  /// How many may be under way at a time.
  static let places = 16
  /// An owner may have so many times what is still free.
  private static let share = FairShare.times

  private let state = Locked(State())
  private let capacity: Int

  init(capacity: Int = RenewalSchedule.capacity) { self.capacity = capacity }

  /// Whether there is nothing to do, ever.
  var isEmpty: Bool { state.withLock { $0.count == 0 } }
  /// How many are under way.
  var underWay: Int { state.withLock { $0.underWay } }
  /// How many places are kept, those included whose entries have moved on.
  var placeCount: Int { state.withLock { $0.agendas.values.reduce(0) { $0 + $1.placeCount } } }

  /// Adds `entry`, in place of one about an older token, unless it is there already.
  func add(_ entry: Entry) {
    state.withLock { state in
      if state.count >= capacity, state.agendas[entry.owner]?.isKnown(entry) != true {
        let own = state.agendas[entry.owner]?.count ?? 0
        guard let most = state.agendas.max(by: { $0.value.count < $1.value.count }), most.value.count > own else {
          return
        }
        state.change(most.key) { $0.drop() }
      }
      state.change(entry.owner) { $0.add(entry) }
    }
  }

  /// Forgets what is due for a session of `owner` that is over: its places are free at once.
  func remove(_ key: RecordKey, of owner: UInt32) {
    state.withLock { state in
      guard state.agendas[owner] != nil else { return }
      state.change(owner) { $0.remove(key) }
    }
  }

  /// Takes out one that is due at `now` and may begin: of the owner of whom least is under way. `end` must follow.
  func begin(dueAt now: MonotonicInstant) -> Entry? {
    state.withLock { state in
      while let owner = Self.next(in: state, at: now) {
        state.turns += 1
        let turn = state.turns
        let entry = state.change(owner) { agenda -> Entry? in
          guard let entry = agenda.next(dueAt: now) else { return nil }
          agenda.underWay += 1
          agenda.turn = turn
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
      state.change(entry.owner) { $0.underWay -= 1 }
    }
  }

  private static func next(in state: State, at now: MonotonicInstant) -> UInt32? {
    let free = places - state.underWay
    var best: (owner: UInt32, agenda: OwnerAgenda)?
    for (owner, agenda) in state.agendas where agenda.underWay < share * free && agenda.hasDue(at: now) {
      guard let other = best?.agenda, (other.underWay, other.turn) <= (agenda.underWay, agenda.turn) else {
        best = (owner, agenda)
        continue
      }
    }
    return best?.owner
  }
}
