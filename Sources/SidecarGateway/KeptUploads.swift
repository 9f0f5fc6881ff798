import PosternSupport

/// Decides which bodies of requests are read before they are sent: such a request is retried with a newer token, or
/// once advice is satisfied. Any other body is sent while it is read, once. The memory for them is bounded for each
/// user, over all its connections and endpoints: a program may begin many requests and end none.
package struct KeptUploads: Sendable {
  /// The largest body that is kept.
  static let maxBytes: Int64 = 1 << 20
  private static let bytesPerUID = 32 << 20
  private let budget = Locked(SharedBudget(capacity: 2 * bytesPerUID, capacityPerUID: bytesPerUID))

  package init() {}

  /// Takes memory for a body of `length` bytes, nil: not known. Returns how much is to be given back; nil: the body is
  /// not to be kept.
  func take(_ length: Int64?, for uid: UInt32) -> Int? {
    guard let length, length <= Self.maxBytes else { return nil }
    guard length > 0 else { return 0 }
    return budget.withLock { $0.take(Int(length), for: uid) } ? Int(length) : nil
  }

  /// Gives back what `take` took.
  func giveBack(_ bytes: Int, for uid: UInt32) {
    budget.withLock { $0.giveBack(bytes, for: uid) }
  }
}
