import PosternSupport

/// Puts lists together one at a time for each uid, its connections in rotation, and bounds how much the lists of a uid
/// that are under way request together.
final class ListLimiter: Sendable {
  /// How many entries the lists of one uid that are under way may request: ten of the longest pages, a hundred of the
  /// usual ones. Their results are kept in memory until the caller reads them.
  static let maxEntries = 10_000
  private static let limits = ConcurrencyLimiter.Limits(capacityPerUID: 1, queue: 65_536, queueTime: .seconds(30))

  private let entries = Locked(SharedBudget(capacityPerUID: maxEntries))
  private let limiter: ConcurrencyLimiter

  init(clock: any EngineClock) { limiter = ConcurrencyLimiter(Self.limits, clock: clock) }

  /// How many uids have lists under way.
  var uidCount: Int { entries.withLock { $0.uidCount } }

  /// Waits until a list of so many entries may be put together; `leave` must follow unless this throws.
  func enter(_ peer: PeerID, entries count: Int, until deadline: Deadline) async throws(ConcurrencyLimiter.Rejection) {
    guard entries.withLock({ $0.take(count, for: peer.uid) }) else { throw .queueFull }
    do throws(ConcurrencyLimiter.Rejection) {
      try await limiter.enter(peer, until: deadline)
    } catch {
      entries.withLock { $0.giveBack(count, for: peer.uid) }
      throw error
    }
  }

  /// The list is put together.
  func leave(_ peer: PeerID, entries count: Int) {
    entries.withLock { $0.giveBack(count, for: peer.uid) }
    limiter.leave(peer)
  }
}
