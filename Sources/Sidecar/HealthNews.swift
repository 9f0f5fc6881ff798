import Support

/// Tells whoever publishes health that something may have changed. What tells is made before what publishes.
final class HealthNews: Sendable {
  private let action = Locked<(@Sendable () -> Void)?>(nil)

  /// What happens from now on when something may have changed.
  func onNews(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }

  /// Something may have changed.
  func tell() { action.withLock { $0 }?() }
}
