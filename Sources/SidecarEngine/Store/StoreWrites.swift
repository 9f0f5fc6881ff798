package import AuthEngine
import PosternSupport

/// Reports the outcome of writes to the session store. Separate because the store is created before the receiver.
package final class StoreWrites: Sendable {
  private struct State {
    var action: (@Sendable (StoreError?) -> Void)?
  }

  private let state = Locked(State())

  package init() {}

  /// Sets the action after each write; it gets the error, or nil.
  package func onWrite(_ action: @escaping @Sendable (StoreError?) -> Void) { state.withLock { $0.action = action } }

  /// Reports a write.
  @Sendable package func report(_ fault: StoreError?) { state.withLock { $0.action }?(fault) }
}
