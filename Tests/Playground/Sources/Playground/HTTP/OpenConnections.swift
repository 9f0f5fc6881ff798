import NIOCore
import PosternSupport

/// The connections that are being served, so that their number is bounded and all of them end before the event loops
/// do.
final class OpenConnections<Inbound: Sendable, Outbound: Sendable>: Sendable {
  typealias Channel = NIOAsyncChannel<Inbound, Outbound>

  private struct State {
    var isClosing = false
    var nextIdentifier = 0
    var tasks: [Int: Task<Void, Never>] = [:]
  }

  private let serve: @Sendable (Channel) async -> Void
  private let state = Locked(State())

  /// No connections yet; `serve` serves one of those to come.
  init(serve: @escaping @Sendable (Channel) async -> Void) { self.serve = serve }

  /// Serves `channel` in a task of its own; closes it at once when there are too many or when everything is closing.
  func open(_ channel: Channel) {
    state.withLock { state in
      let isAccepted = !state.isClosing && state.tasks.count < Limits.connections
      let identifier = state.nextIdentifier
      state.nextIdentifier += 1
      // Made under the lock, so that the task cannot take itself off the list before it is on it.
      state.tasks[identifier] = Task {
        if isAccepted { await serve(channel) } else { try? await channel.executeThenClose { _, _ in } }
        self.state.withLock { _ = $0.tasks.removeValue(forKey: identifier) }
      }
    }
  }

  /// Ends all connections and returns when the last one is gone. Those that still come are closed at once.
  func closeAll() async {
    while true {
      let tasks = state.withLock { state in
        state.isClosing = true
        return Array(state.tasks.values)
      }
      if tasks.isEmpty { return }
      for task in tasks { task.cancel() }
      for task in tasks { await task.value }
    }
  }
}
