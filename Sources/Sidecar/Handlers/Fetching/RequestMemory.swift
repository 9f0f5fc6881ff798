import PosternSupport

/// The memory that request bodies use while their requests are in progress.
struct RequestMemory {
  /// What one request takes.
  struct Use {
    let bytes: Int
    let uid: UInt32
    /// The outermost endpoint, or `narrow`, that its call came through; nil: none.
    let level: String?
    /// The handle of the session that the request is for; nil: none.
    var session: String?

    /// Small requests are not counted, so that large bodies do not keep them from being sent.
    fileprivate var isCounted: Bool { bytes > RequestMemory.smallest }
  }

  private static let smallest = 64 << 10
  /// The most of one level, so that a program with fewer rights leaves room for the program that gave it those; and of one
  /// session, so that a user of an application leaves room for its other users.
  private static let mostOfShare = 64 << 20

  /// A part of a uid that has a bound of its own.
  private enum Share: Hashable {
    case level(String)
    case session(UInt32, String)
  }

  /// A uid alone gets half of it.
  private var uids = SharedBudget(capacity: 512 << 20, capacityPerUID: 256 << 20)
  private var shares: [Share: Int] = [:]

  /// Takes what a request needs; false when its uid, its level or its session has too much.
  mutating func take(_ use: Use) -> Bool {
    guard use.isCounted else { return true }
    let own = Self.shares(of: use)
    guard own.allSatisfy({ shares[$0, default: 0] + use.bytes <= Self.mostOfShare }),
      uids.take(use.bytes, for: use.uid)
    else { return false }
    for share in own { shares[share, default: 0] += use.bytes }
    return true
  }

  /// Gives back what `take` took.
  mutating func giveBack(_ use: Use) {
    guard use.isCounted else { return }
    uids.giveBack(use.bytes, for: use.uid)
    for share in Self.shares(of: use) {
      let left = shares[share, default: 0] - use.bytes
      shares[share] = left > 0 ? left : nil
    }
  }

  private static func shares(of use: Use) -> [Share] {
    [use.level.map { .level($0) }, use.session.map { .session(use.uid, $0) }].compactMap(\.self)
  }
}
