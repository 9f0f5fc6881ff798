import SessionRecords

/// One call of a Redis store on its way through the thread.
struct RedisCall: Sendable {
  /// Does the work and answers the caller.
  let run: @Sendable (RedisTable) -> Void
  /// Answers the caller without.
  let refuse: @Sendable (StoreError) -> Void
}
