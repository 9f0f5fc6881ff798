/// A participant of a `FairQueue`: served by its start time, of equal ones in the order in which they came.
public class FairParticipant {
  @usableFromInline var start: Int64 = 0
  /// The number of its arrival in the heap.
  fileprivate var arrival: UInt64 = 0
  /// Its index in the heap; nil outside.
  fileprivate var index: Int?

  @usableFromInline
  init() {}

  fileprivate func isBefore(_ other: FairParticipant) -> Bool {
    start == other.start ? arrival < other.arrival : start < other.start
  }
}

/// The participants that have work, the next one first: a binary heap whose members know their index, so that one whose
/// start time has changed finds its new position in logarithmic time.
@usableFromInline
struct FairHeap {
  private var members: [FairParticipant] = []
  private var arrivals: UInt64 = 0

  @usableFromInline
  init() {}

  @usableFromInline var isEmpty: Bool { members.isEmpty }
  @usableFromInline var first: FairParticipant? { members.first }

  @usableFromInline
  mutating func add(_ member: FairParticipant) {
    arrivals += 1
    member.arrival = arrivals
    member.index = members.count
    members.append(member)
    moveUp(members.count - 1)
  }

  @usableFromInline
  mutating func remove(_ member: FairParticipant) {
    guard let index = member.index else { return }
    member.index = nil
    let last = members.removeLast()
    guard index < members.count else { return }
    put(last, at: index)
    moveUp(index)
    moveDown(last.index ?? index)
  }

  /// The member's start time has grown; without effect outside.
  @usableFromInline
  mutating func moveBack(_ member: FairParticipant) {
    if let index = member.index { moveDown(index) }
  }

  private mutating func put(_ member: FairParticipant, at index: Int) {
    members[index] = member
    member.index = index
  }

  private mutating func moveUp(_ start: Int) {
    let member = members[start]
    var index = start
    while index > 0, member.isBefore(members[(index - 1) / 2]) {
      put(members[(index - 1) / 2], at: index)
      index = (index - 1) / 2
    }
    put(member, at: index)
  }

  private mutating func moveDown(_ start: Int) {
    let member = members[start]
    var index = start
    while 2 * index + 1 < members.count {
      var child = 2 * index + 1
      if child + 1 < members.count, members[child + 1].isBefore(members[child]) { child += 1 }
      guard members[child].isBefore(member) else { break }
      put(members[child], at: index)
      index = child
    }
    put(member, at: index)
  }
}

extension FairParticipant: ConciseStringConvertible {}
