public import JOSE
public import PosternSupport

/// Where verification keys come from.
public protocol KeySource: Sendable {
  /// The set in force: cached while it is valid, fetched when there is none.
  func keySet(deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot

  /// A set fetched after `snapshot`, for a key it does not hold.
  ///
  /// Nil when there is no newer one, or the cool-down or the budget forbids to look: the token's key is then unknown.
  /// Throws when the look failed, now or within the cool-down: whether the key exists cannot be said.
  func keySet(newerThan snapshot: KeySetSnapshot, deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot?

  /// The same for a key that `isSought` finds. A set without it is returned only if it was fetched for this question:
  /// what was sent before the question may be older than the key.
  func keySet(
    newerThan snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool, deadline: Deadline
  ) async throws(KeySetError) -> KeySetSnapshot?
}

extension KeySource {
  /// Whatever is newer: right for a source that nobody shares.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool, deadline: Deadline
  ) async throws(KeySetError) -> KeySetSnapshot? {
    try await keySet(newerThan: snapshot, deadline: deadline)
  }
}
