import PosternSupport

/// The memory for bodies of requests that may be sent once more: with a newer token, or once advice is satisfied. It is
/// bounded for each user, over all its connections and endpoints: a program may begin many requests and end none.
package struct KeptUploads: Sendable {
  /// The largest body that is kept.
  static let maxBytes = 1 << 20
  private static let bytesPerUID = 32 << 20
  private let budget = Locked(SharedBudget(capacity: 2 * bytesPerUID, capacityPerUID: bytesPerUID))

  package init() {}

  /// Takes memory for so many bytes; false when there is none for `uid`.
  func take(_ bytes: Int, for uid: UInt32) -> Bool { budget.withLock { $0.take(bytes, for: uid) } }

  /// Gives back what `take` took.
  func giveBack(_ bytes: Int, for uid: UInt32) { budget.withLock { $0.giveBack(bytes, for: uid) } }
}
