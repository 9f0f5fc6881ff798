import SessionRecords

/// One call of a Redis store, carried out by the store's thread.
struct RedisCall: Sendable {
  /// Does the work and answers the caller.
  let run: @Sendable (RedisTable) -> Void
  /// Answers the caller without.
  let reject: @Sendable (StoreError) -> Void
}
