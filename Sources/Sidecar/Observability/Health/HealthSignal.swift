import PosternSupport

/// Signals that health may have changed. Separate because senders are created before the receiver.
package final class HealthSignal: Sendable {
  private struct State {
    var action: (@Sendable () -> Void)?
  }

  private let state = Locked(State())

  package init() {}

  /// Sets the action after each change.
  package func onChange(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }

  /// Signals a possible change.
  package func signal() { state.withLock { $0.action }?() }
}
