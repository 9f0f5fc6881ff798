package import PosternSupport

/// The memory that calls of `preauthorize` use while they run, by uid: each keeps its resources and their decisions
/// until all are answered.
package enum DecisionLoad {
  /// A uid alone gets half of it.
  package static let budget = SharedBudget(capacity: 256 << 20, capacityPerUID: 128 << 20)

  /// The bytes of a resource in addition to its text: in the call, in the lookup it waits for, and as a decision.
  static let overhead = 320

  /// The bytes of a call about `resources` with a context of `contextBytes`, which is there as a value and as text.
  package static func weight(of resources: [String], contextBytes: Int) -> Int {
    resources.reduce(overhead + 2 * contextBytes) { $0 + overhead + $1.utf8.count }
  }
}
