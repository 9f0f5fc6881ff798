import PosternSupport
import SessionRecords

/// One call of a file store, carried out by the store's thread.
protocol FileCall: Sendable {
  var writes: Bool { get }

  /// Does the work; returns the error, if there was one. May be run again when the transaction around it failed.
  func run(on table: inout RecordTable) -> StoreError?

  /// Answers the caller: with `failure`, or with the outcome of the last run. Once.
  func finish(_ failure: StoreError?)
}

/// A call with its waiter.
final class TypedFileCall<Value: Sendable>: FileCall, @unchecked Sendable {
  // Sendable because `outcome` is only touched by the store's thread.
  let writes: Bool
  private let body: @Sendable (inout RecordTable) throws(StoreError) -> Value
  private let reply: Reply<Result<Value, StoreError>>
  private var outcome: Result<Value, StoreError>?

  init(
    writes: Bool, reply: Reply<Result<Value, StoreError>>,
    body: @escaping @Sendable (inout RecordTable) throws(StoreError) -> Value
  ) {
    self.writes = writes
    self.reply = reply
    self.body = body
  }

  func run(on table: inout RecordTable) -> StoreError? {
    do throws(StoreError) {
      outcome = .success(try body(&table))
      return nil
    } catch {
      outcome = .failure(error)
      return error
    }
  }

  func finish(_ failure: StoreError?) {
    let notRun = StoreError(.unavailable, "the store is closed")
    reply.fill(failure.map { .failure($0) } ?? outcome ?? .failure(notRun))
  }
}
