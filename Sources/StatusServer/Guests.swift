import NIOCore
import PosternSupport

/// The connections that are open, in the order in which each was last answered.
final class Guests: Sendable {
  private struct Guest {
    let channel: any Channel
    /// Whether its page is being made.
    var isAnswered = false
  }

  private let limit: Int
  private let guests = Locked<[Guest]>([])

  init(limit: Int) { self.limit = limit }

  /// A new one; when there are too many, the one goes that has been without an answer for longest, and none whose
  /// answer is on its way while there is another.
  func add(_ channel: any Channel) {
    let oldest = guests.withLock { guests -> Guest? in
      defer { guests.append(Guest(channel: channel)) }
      guard guests.count >= limit else { return nil }
      return guests.remove(at: guests.firstIndex { !$0.isAnswered } ?? 0)
    }
    oldest?.channel.close(promise: nil)
  }

  /// It has asked for a page.
  func asks(_ channel: any Channel) { renew(channel, isAnswered: true) }

  /// Its page is made.
  func isAnswered(_ channel: any Channel) { renew(channel, isAnswered: false) }

  private func renew(_ channel: any Channel, isAnswered: Bool) {
    guests.withLock { guests in
      guard let place = guests.firstIndex(where: { $0.channel === channel }) else { return }
      guests.remove(at: place)
      guests.append(Guest(channel: channel, isAnswered: isAnswered))
    }
  }

  /// It is closed.
  func remove(_ channel: any Channel) { guests.withLock { $0.removeAll { $0.channel === channel } } }
}
