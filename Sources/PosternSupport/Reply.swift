/// The answer to a call, on its way from another thread or task to the one task that waits for it.
///
/// The value passes through a lock and not through the continuation: ThreadSanitizer does not see the order of a
/// continuation that is resumed before its task has come to wait, as a quick answer may be.
public final class Reply<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  /// No answer yet.
  public init() {}

  /// Answers. Only the first answer counts.
  public func fill(_ value: Value) {
    let waiter = state.withLock { state in
      if state.value == nil { state.value = value }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Waits for the answer.
  public func value() async -> Value {
    while true {
      if let value = state.withLock({ $0.value }) { return value }
      await withCheckedContinuation { continuation in
        let isFilled = state.withLock { state in
          if state.value == nil { state.waiter = continuation }
          return state.value != nil
        }
        if isFilled { continuation.resume() }
      }
    }
  }
}

extension Reply: ConciseStringConvertible {}
