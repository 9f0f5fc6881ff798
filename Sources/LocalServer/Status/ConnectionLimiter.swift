import PosternSupport

/// Bounds the number of open connections: beyond it, the one is closed that has been without a request for longest.
final class ConnectionLimiter: Sendable {
  private struct Entry {
    let connection: HTTPConnection
    /// Whether a response to it is being made.
    var isBusy = false
  }

  private let limit: Int
  /// In the order of their latest request or response.
  private let entries = Locked<[Entry]>([])

  init(limit: Int) { self.limit = limit }

  /// All connections.
  var all: [HTTPConnection] { entries.withLock { $0.map(\.connection) } }

  /// Adds a connection. One whose response is being made is closed only if all are.
  func add(_ connection: HTTPConnection) {
    let oldest = entries.withLock { entries -> Entry? in
      defer { entries.append(Entry(connection: connection)) }
      guard entries.count >= limit else { return nil }
      return entries.remove(at: entries.firstIndex { !$0.isBusy } ?? 0)
    }
    oldest?.connection.perform { $0.leave() }
  }

  /// Notes that the connection has made a request, or that the response to it is made.
  func setBusy(_ isBusy: Bool, _ connection: HTTPConnection) {
    entries.withLock { entries in
      guard let index = entries.firstIndex(where: { $0.connection === connection }) else { return }
      entries.remove(at: index)
      entries.append(Entry(connection: connection, isBusy: isBusy))
    }
  }

  /// Removes a connection that is closed.
  func remove(_ id: UInt64) { entries.withLock { $0.removeAll { $0.connection.link.id == id } } }
}
