public import Support

/// A published key set as one call uses it: requests it causes are part of the call's trace.
public struct TracedKeySource: KeySource {
  private let source: PublishedKeySource
  private let trace: TraceContext?

  /// `source` within `trace`.
  public init(_ source: PublishedKeySource, trace: TraceContext?) {
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
    try await source.keySet(newerThan: snapshot, deadline: deadline, trace: trace)
  }
}
