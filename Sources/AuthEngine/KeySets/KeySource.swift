public import Support

/// Where verification keys come from.
public protocol KeySource: Sendable {
  /// The set in force: cached while it is valid, fetched when there is none.
  func keySet(deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot

  /// A set fetched after `snapshot`, for a key it does not hold.
  ///
  /// Nil when there is no newer one, or the cool-down or the budget forbids to look: the token's key is then unknown. Throws
  /// when the look failed, now or within the cool-down: whether the key exists cannot be said.
  func keySet(newerThan snapshot: KeySetSnapshot, deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot?
}
