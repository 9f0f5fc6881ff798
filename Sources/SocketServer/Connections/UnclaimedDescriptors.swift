import PosternSupport

/// The descriptors that a peer has passed on one connection and that no call has claimed yet, in their order.
final class UnclaimedDescriptors: Sendable {
  /// The most that may wait: who passes more has lost count.
  static let limit = 16

  private let waiting = Locked<[PassedDescriptor]>([])

  var isEmpty: Bool { waiting.withLock { $0.isEmpty } }

  /// Adds those that came with one read; false when there are too many.
  func add(_ descriptors: [PassedDescriptor]) -> Bool {
    waiting.withLock { waiting in
      waiting += descriptors
      return waiting.count <= Self.limit
    }
  }

  /// Takes the first `count`, or as many as there are.
  func take(_ count: Int) -> [PassedDescriptor] {
    waiting.withLock { waiting in
      let taken = Array(waiting.prefix(count))
      waiting.removeFirst(taken.count)
      return taken
    }
  }
}
