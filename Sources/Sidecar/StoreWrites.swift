import AuthEngine
import PosternSupport

/// Passes on how writes into the session store go. What tells is made before who is told.
final class StoreWrites: Sendable {
  private struct State {
    var action: (@Sendable (StoreError?) -> Void)?
  }

  private let state = Locked(State())

  /// What happens from now on after a write; it is given why that failed, nil for well.
  func onWrite(_ action: @escaping @Sendable (StoreError?) -> Void) { state.withLock { $0.action = action } }

  /// A write is over.
  @Sendable func tell(_ fault: StoreError?) { state.withLock { $0.action }?(fault) }
}
