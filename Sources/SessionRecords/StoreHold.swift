/// Whether the running task is a part of something that holds the store.
enum StoreHold {
  @TaskLocal static var isHeld = false
}

extension RecordStore {
  /// Runs `body`, whose outcome has to be written since it may not be had again: this process has the store until it is
  /// over. Not begun where the store is about to be left to another process.
  package func whileHeld<Value: Sendable, Failure: Error>(
    _ failure: (StoreError) -> Failure, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    do throws(StoreError) { try hold(isNested: StoreHold.isHeld) } catch { throw failure(error) }
    defer { letGo() }
    let outcome = await StoreHold.$isHeld.withValue(true) { () async -> Result<Value, Failure> in
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}
