public import JOSE
public import OAuthClient
public import PosternSupport

/// A published key set as one call uses it: requests it causes are part of the call's trace.
public struct TracedKeySource: KeySource {
  private let source: RemoteJWKSet
  private let trace: TraceContext?

  /// `source` within `trace`.
  public init(_ source: RemoteJWKSet, trace: TraceContext?) {
    self.source = source
    self.trace = trace
  }

  /// The set in force.
  public func keySet(deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot {
    try await source.keySet(deadline: deadline, trace: trace)
  }

  /// A set fetched after `snapshot`.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, deadline: Deadline
  ) async throws(KeySetError) -> KeySetSnapshot? {
    try await keySet(newerThan: snapshot, holding: { _ in true }, deadline: deadline)
  }

  /// A set fetched after `snapshot`, for a key that `isSought` finds.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool, deadline: Deadline
  ) async throws(KeySetError) -> KeySetSnapshot? {
    try await source.keySet(newerThan: snapshot, holding: isSought, deadline: deadline, trace: trace)
  }
}
