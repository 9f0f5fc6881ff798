import PosternSupport

/// Tells whoever publishes health that something may have changed. What tells is made before what publishes.
final class HealthNews: Sendable {
  private struct State {
    var action: (@Sendable () -> Void)?
  }

  private let state = Locked(State())

  /// What happens from now on when something may have changed.
  func onNews(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }

  /// Something may have changed.
  func tell() { state.withLock { $0.action }?() }
}
