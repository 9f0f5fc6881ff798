import NIOCore
import PosternSupport

/// Bounds the number of open connections: beyond it, the one is closed that has been without a request for longest.
final class ConnectionLimiter: Sendable {
  private struct Connection {
    let channel: any Channel
    /// Whether a response to it is being made.
    var isBusy = false
  }

  private let limit: Int
  /// In the order of their latest request or response.
  private let connections = Locked<[Connection]>([])

  init(limit: Int) { self.limit = limit }

  /// Adds a connection. One whose response is being made is closed only if all are.
  func add(_ channel: any Channel) {
    let oldest = connections.withLock { connections -> Connection? in
      defer { connections.append(Connection(channel: channel)) }
      guard connections.count >= limit else { return nil }
      return connections.remove(at: connections.firstIndex { !$0.isBusy } ?? 0)
    }
    oldest?.channel.close(promise: nil)
  }

  /// Notes that the connection has made a request, or that the response to it is made.
  func setBusy(_ isBusy: Bool, _ channel: any Channel) {
    connections.withLock { connections in
      guard let index = connections.firstIndex(where: { $0.channel === channel }) else { return }
      connections.remove(at: index)
      connections.append(Connection(channel: channel, isBusy: isBusy))
    }
  }

  /// Removes a connection that is closed.
  func remove(_ channel: any Channel) { connections.withLock { $0.removeAll { $0.channel === channel } } }
}
