import PosternSupport

/// Whether a record was written, for the one task that waits to know.
///
/// The value passes through a lock and not through the continuation: ThreadSanitizer does not see the order of a
/// continuation that is resumed before its task has come to wait.
final class AuditReceipt: Sendable {
  private struct State {
    var isWritten: Bool?
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  /// Says so; the first word counts.
  func fill(_ isWritten: Bool) {
    let waiter = state.withLock { state in
      if state.isWritten == nil { state.isWritten = isWritten }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Waits for it.
  func isWritten() async -> Bool {
    while true {
      if let isWritten = state.withLock({ $0.isWritten }) { return isWritten }
      await withCheckedContinuation { continuation in
        let isFilled = state.withLock { state in
          if state.isWritten == nil { state.waiter = continuation }
          return state.isWritten != nil
        }
        if isFilled { continuation.resume() }
      }
    }
  }
}
