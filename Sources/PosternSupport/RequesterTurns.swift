/// Whose turn it is among the uids that wait: the one's whose last turn was longest ago. One that comes is behind those
/// that wait already, whatever it had before, so that it gains nothing by coming again and again.
public struct RequesterTurns: Sendable {
  private struct Owner: Sendable {
    var waiting = 0
    var turn: UInt64
  }

  private var owners: [UInt32: Owner] = [:]
  private var turns: UInt64 = 0

  /// Nobody waits.
  public init() {}

  /// The uid of which most wait, and how many.
  public var most: (uid: UInt32, count: Int)? {
    owners.max { ($0.value.waiting, $0.key) < ($1.value.waiting, $1.key) }.map { ($0.key, $0.value.waiting) }
  }

  /// How many of `uid` wait.
  public func count(of uid: UInt32) -> Int { owners[uid]?.waiting ?? 0 }

  /// The turn of `uid`; smaller is earlier, and among equals who came first.
  public func turn(of uid: UInt32) -> UInt64 { owners[uid]?.turn ?? turns }

  /// One of `uid` comes.
  public mutating func come(_ uid: UInt32) { owners[uid, default: Owner(turn: turns)].waiting += 1 }

  /// One of `uid` waits no more: it goes, which is its uid's turn, or gives up.
  public mutating func leave(_ uid: UInt32, goes: Bool) {
    guard var owner = owners.removeValue(forKey: uid) else { return }
    owner.waiting -= 1
    if goes {
      turns += 1
      owner.turn = turns
    }
    if owner.waiting > 0 { owners[uid] = owner }
  }
}
