extension RecordStore {
  /// Runs `body`, whose outcome has to be written since it may not be available again: the store remains in this
  /// process until its end. It is not started where the store is about to be left to another process.
  package func whileRetained<Value: Sendable, Failure: Error>(
    _ failure: (StoreError) -> Failure, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    do throws(StoreError) { try beginRetention(isNested: false) } catch { throw failure(error) }
    defer { endRetention() }
    return try await body()
  }
}
