import Support

/// What is to be done about sessions at which time, without anybody asking.
///
/// Bounded: what does not fit is left to the next call that needs it.
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

  private struct Place: Sendable, Hashable {
    let key: RecordKey
    let duty: Duty
  }

  private struct State {
    var entries: [Place: Entry] = [:]
    /// By the second in which they are due. A place whose entry is due at another time now has an heir elsewhere.
    var buckets: [Int64: [Place]] = [:]
    /// How many places the buckets hold.
    var places = 0
  }

  static let capacity = 65_536

  private let state = Locked(State())

  /// Whether there is nothing to do, ever.
  var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

  /// How many places are kept, those included whose entries have moved on.
  var placeCount: Int { state.withLock { $0.places } }

  /// Adds `entry`, in place of one about an older token, unless it is there already.
  func add(_ entry: Entry) {
    let place = Place(key: entry.handle.key, duty: entry.duty)
    state.withLock { state in
      let known = state.entries[place]
      guard known?.expiresAt != entry.expiresAt, known != nil || state.entries.count < Self.capacity else { return }
      state.entries[place] = entry
      state.buckets[Self.second(entry.due), default: []].append(place)
      state.places += 1
      if state.places > 2 * state.entries.count + 1024 { Self.tidy(&state) }
    }
  }

  /// Takes out the places whose entries have moved on: tokens that live long and are renewed often leave many.
  private static func tidy(_ state: inout State) {
    state.buckets = [:]
    for (place, entry) in state.entries { state.buckets[second(entry.due), default: []].append(place) }
    state.places = state.entries.count
  }

  /// Takes out one that is due at `now`.
  func next(dueAt now: MonotonicInstant) -> Entry? {
    state.withLock { state in
      while let second = state.buckets.keys.min(), second <= Self.second(now) {
        while let place = state.buckets[second]?.popLast() {
          state.places -= 1
          guard let entry = state.entries[place], Self.second(entry.due) == second else { continue }
          state.entries[place] = nil
          return entry
        }
        state.buckets[second] = nil
      }
      return nil
    }
  }

  private static func second(_ instant: MonotonicInstant) -> Int64 { instant.nanoseconds / 1_000_000_000 }
}
