/// Whether the running task is a part of an operation that keeps the store in this process.
enum StoreRetention {
  @TaskLocal static var isActive = false
}

extension RecordStore {
  /// Runs `body`, whose outcome has to be written since it may not be available again: the store remains in this
  /// process until its end. It is not started where the store is about to be left to another process.
  package func whileRetained<Value: Sendable, Failure: Error>(
    _ failure: (StoreError) -> Failure, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    do throws(StoreError) { try beginRetention(isNested: StoreRetention.isActive) } catch { throw failure(error) }
    defer { endRetention() }
    let outcome = await StoreRetention.$isActive.withValue(true) { () async -> Result<Value, Failure> in
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}
