/// The order in which several participants with waiting work are served: the one that was served longest ago is next.
/// A participant that starts to wait comes after all that wait already, whatever it had before, so that it gains
/// nothing by leaving and coming back.
public struct Rotation<ID: Hashable & Sendable>: Sendable {
  private struct Participant: Sendable {
    var waiting = 0
    var position: UInt64
  }

  private var participants: [ID: Participant] = [:]
  private var served: UInt64 = 0

  /// A rotation without participants.
  public init() {}

  /// The participant with the most waiting work, and how much that is.
  public var largest: (id: ID, count: Int)? {
    participants.max { ($0.value.waiting, $0.value.position) < ($1.value.waiting, $1.value.position) }
      .map { ($0.key, $0.value.waiting) }
  }

  /// How much work of `id` waits.
  public func count(of id: ID) -> Int { participants[id]?.waiting ?? 0 }

  /// The position of `id`; smaller is earlier. Equal positions are ordered by arrival.
  public func position(of id: ID) -> UInt64 { participants[id]?.position ?? served }

  /// Adds a piece of work of `id`.
  public mutating func add(_ id: ID) { participants[id, default: Participant(position: served)].waiting += 1 }

  /// Removes a piece of work of `id`: it is served, which moves `id` to the end, or it is given up.
  public mutating func remove(_ id: ID, isServed: Bool) {
    guard var participant = participants.removeValue(forKey: id) else { return }
    participant.waiting -= 1
    if isServed {
      served += 1
      participant.position = served
    }
    if participant.waiting > 0 { participants[id] = participant }
  }
}

extension Rotation: ConciseStringConvertible {}
