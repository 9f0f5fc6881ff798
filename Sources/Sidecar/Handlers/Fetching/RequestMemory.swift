import PosternSupport

/// The memory that request bodies use while their requests are in progress.
struct RequestMemory {
  /// What one request takes.
  struct Use {
    let bytes: Int
    let uid: UInt32
    /// The outermost endpoint, or `narrow`, that its call came through; nil: none.
    let level: String?

    /// Small requests are not counted, so that large bodies do not keep them from being sent.
    fileprivate var isCounted: Bool { bytes > RequestMemory.smallest }
  }

  private static let smallest = 64 << 10
  /// The most of one level, so that a program with fewer rights leaves room for the program that gave it those.
  private static let mostOfLevel = 64 << 20

  /// A uid alone gets half of it.
  private var uids = SharedBudget(capacity: 512 << 20, capacityPerUID: 256 << 20)
  private var levels: [String: Int] = [:]

  /// Takes what a request needs; false when its uid, or its level, has too much.
  mutating func take(_ use: Use) -> Bool {
    guard use.isCounted else { return true }
    let ofLevel = use.level.map { levels[$0, default: 0] + use.bytes } ?? 0
    guard ofLevel <= Self.mostOfLevel, uids.take(use.bytes, for: use.uid) else { return false }
    if let level = use.level { levels[level] = ofLevel }
    return true
  }

  /// Gives back what `take` took.
  mutating func giveBack(_ use: Use) {
    guard use.isCounted else { return }
    uids.giveBack(use.bytes, for: use.uid)
    guard let level = use.level else { return }
    let left = levels[level, default: 0] - use.bytes
    levels[level] = left > 0 ? left : nil
  }
}
