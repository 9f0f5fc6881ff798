import PosternSupport
import SessionRecords

/// How many of the bytes that were ever written for an owner are gone again: what has been written (the server counts
/// that) less what there is. It never falls, so that whoever goes by it writes too little at worst, whatever other
/// processes write meanwhile. Used by one thread.
final class KnownRemovals {
  private struct Known {
    var bytes: Int
    let readAt: MonotonicInstant
  }

  /// How long it is believed: other processes remove too, and the server may have forgotten what it counted.
  static let life = Duration.seconds(2)
  private static let capacity = 4096

  private var known: [UInt32: Known] = [:]
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// What is known of `owner`; nil when that is too old, or nothing.
  func bytes(of owner: UInt32) -> Int? {
    guard let known = known[owner], clock.monotonicNow - known.readAt < Self.life else { return nil }
    return known.bytes
  }

  func note(_ bytes: Int, of owner: UInt32) {
    if known.count >= Self.capacity { known = [:] }
    known[owner] = Known(bytes: bytes, readAt: clock.monotonicNow)
  }

  /// A record was removed.
  func add(_ bytes: Int, of owner: UInt32) { known[owner]?.bytes += bytes }

  func forgetAll() { known = [:] }
}
