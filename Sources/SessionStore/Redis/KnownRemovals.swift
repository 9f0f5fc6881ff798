import PosternSupport
import SessionRecords

/// The number of bytes of a uid that were written and have been removed again: the bytes written, which the server
/// counts, less the existing ones. It never falls, so that a sidecar that uses it writes too little at worst, whatever
/// other processes write meanwhile. Used by one thread.
final class KnownRemovals {
  private struct Known {
    var bytes: Int
    let readAt: MonotonicInstant
  }

  /// The time for which it is used: other processes remove records too, and the server may have lost its count.
  static let life = Duration.seconds(2)
  private static let capacity = 4096

  private var known: [UInt32: Known] = [:]
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// Returns the known value of `uid`; nil when it is too old, or missing.
  func bytes(of uid: UInt32) -> Int? {
    guard let known = known[uid], clock.monotonicNow - known.readAt < Self.life else { return nil }
    return known.bytes
  }

  func note(_ bytes: Int, of uid: UInt32) {
    if known.count >= Self.capacity { known = [:] }
    known[uid] = Known(bytes: bytes, readAt: clock.monotonicNow)
  }

  /// A record was removed.
  func add(_ bytes: Int, of uid: UInt32) { known[uid]?.bytes += bytes }

  func forget(_ uid: UInt32) { known[uid] = nil }

  func forgetAll() { known = [:] }
}
