import PosternSupport

/// The memory that request bodies use while their requests are in progress.
struct RequestMemory {
  /// What one request takes.
  struct Use {
    let bytes: Int
    let uid: UInt32
    /// The outermost endpoint, or `narrow`, that its call came through; nil: none.
    let level: String?
    /// The user that the request is for: the handle of the session, or the hash of an inbound token; nil: nobody.
    var user: String?

    /// Small requests are not counted, so that large bodies do not keep them from being sent.
    fileprivate var isCounted: Bool { bytes > RequestMemory.smallest }
  }

  private static let smallest = 64 << 10
  /// The most of one level, so that a program with fewer rights leaves room for the program that gave it those; and of one
  /// user, who leaves room for an application's other users.
  private static let mostOfShare = 64 << 20
  /// The most of requests of a uid that are for nobody: visitors of an application leave room for its users.
  private static let mostOfNobody = 192 << 20

  /// A part of a uid that has a bound of its own.
  private enum Share: Hashable {
    case level(String)
    case user(UInt32, String?)

    var most: Int { if case .user(_, nil) = self { RequestMemory.mostOfNobody } else { RequestMemory.mostOfShare } }
  }

  /// A uid alone gets half of it.
  private var uids = SharedBudget(capacity: 512 << 20, capacityPerUID: 256 << 20)
  private var shares: [Share: Int] = [:]

  /// Takes what a request needs; false when its uid, its level or its user has too much.
  mutating func take(_ use: Use) -> Bool {
    guard use.isCounted else { return true }
    let own = Self.shares(of: use)
    guard own.allSatisfy({ shares[$0, default: 0] + use.bytes <= $0.most }),
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
    [use.level.map { .level($0) }, .user(use.uid, use.user)].compactMap(\.self)
  }
}
