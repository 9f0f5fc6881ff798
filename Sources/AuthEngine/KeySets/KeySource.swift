public import Support

/// Where verification keys come from.
public protocol KeySource: Sendable {
  /// The set in force: cached while it is valid, fetched when there is none.
  func keySet(deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot

  /// A set fetched after `snapshot`, for a key it does not hold.
  ///
  /// Nil when there is none to be had: the cool-down or the budget forbids a request, or it failed while the old set
  /// stands. The token's key is then unknown.
  func keySet(newerThan snapshot: KeySetSnapshot, deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot?
}
