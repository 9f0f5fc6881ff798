import PosternSupport

/// The configuration in force: an immutable snapshot that a reload replaces as a whole. Each call keeps the one it
/// started with.
package final class RunningConfiguration: Sendable {
  private let state: Locked<ConfigurationSnapshot>
  private let hub: EventHub

  package init(_ snapshot: ConfigurationSnapshot, hub: EventHub) {
    state = Locked(snapshot)
    self.hub = hub
    hub.use(snapshot.access)
  }

  /// The snapshot that new calls run on.
  package var current: ConfigurationSnapshot { state.withLock { $0 } }

  /// Lets new calls run on `next`.
  package func replace(with next: ConfigurationSnapshot) {
    state.withLock { $0 = next }
    hub.use(next.access)
  }
}
