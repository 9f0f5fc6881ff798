import PosternJSON
import PosternProtocol
import PosternSupport

/// What the calls of `preauthorize` under way hold, by uid: each keeps its resources, and what it hears of them, until
/// all are answered.
///
/// Whoever is alone gets `mostOfOne`; beside others at most three times what is left free (`FairShare`).
final class DecisionLoad: Sendable {
  /// How many bytes at most.
  struct Limits: Sendable {
    var most = 256 << 20
    var mostOfOne = 128 << 20
  }

  /// What a resource takes beside its text: in the call, in the look-up it waits for, and as a decision that has come.
  static let overhead = 320

  private struct State {
    var total = 0
    var owners: [UInt32: Int] = [:]
  }

  private let limits: Limits
  private let state = Locked(State())

  init(_ limits: Limits = Limits()) { self.limits = limits }

  /// What a call about `resources` holds beside a context of `contextBytes`, which is there as a value and as text.
  static func weight(of resources: [String], contextBytes: Int) -> Int {
    resources.reduce(overhead + 2 * contextBytes) { $0 + overhead + $1.utf8.count }
  }

  /// A call of `owner` begins; false when there is no room for it.
  func begin(_ weight: Int, of owner: UInt32) -> Bool {
    state.withLock { state in
      let own = (state.owners[owner] ?? 0) + weight
      let free = limits.most - state.total - weight
      guard own <= limits.mostOfOne, FairShare.allows(own, free: free) else { return false }
      state.owners[owner] = own
      state.total += weight
      return true
    }
  }

  /// One that has begun is over.
  func end(_ weight: Int, of owner: UInt32) {
    state.withLock { state in
      let left = (state.owners[owner] ?? 0) - weight
      state.owners[owner] = left > 0 ? left : nil
      state.total -= weight
    }
  }
}
