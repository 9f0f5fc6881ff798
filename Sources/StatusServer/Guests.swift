import NIOCore
import Support

/// The connections that are open, in the order in which each was last answered.
final class Guests: Sendable {
  private let limit: Int
  private let channels = Locked<[any Channel]>([])

  init(limit: Int) { self.limit = limit }

  /// A new one; when there are too many, the one that has been without an answer for longest goes.
  func add(_ channel: any Channel) {
    let oldest = channels.withLock { channels -> (any Channel)? in
      channels.append(channel)
      return channels.count > limit ? channels.removeFirst() : nil
    }
    oldest?.close(promise: nil)
  }

  /// It has been answered.
  func renew(_ channel: any Channel) {
    channels.withLock { channels in
      guard let place = channels.firstIndex(where: { $0 === channel }) else { return }
      channels.append(channels.remove(at: place))
    }
  }

  /// It is closed.
  func remove(_ channel: any Channel) { channels.withLock { $0.removeAll { $0 === channel } } }
}
