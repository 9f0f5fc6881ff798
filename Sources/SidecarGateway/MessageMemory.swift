import PosternSupport

/// The memory for JSON-RPC messages over HTTP, and for their answers until the program has read them. Each user has a
/// bound, which two of the largest messages fit into.
package struct MessageMemory: Sendable {
  private static let bytesPerUID = 64 << 20
  /// The most bytes of a message.
  let messageBytes: Int
  private let budget: Locked<SharedBudget>

  /// `messageBytes`: the most bytes of a message.
  package init(messageBytes: Int) {
    self.messageBytes = messageBytes
    let most = max(Self.bytesPerUID, 2 * messageBytes)
    budget = Locked(SharedBudget(capacity: 4 * most, capacityPerUID: most))
  }

  /// Takes that many bytes of the memory of `uid`; false when too few are left.
  func take(_ bytes: Int, for uid: UInt32) -> Bool { budget.withLock { $0.take(bytes, for: uid) } }

  /// Gives back what `take` took.
  func giveBack(_ bytes: Int, for uid: UInt32) { budget.withLock { $0.giveBack(bytes, for: uid) } }
}
