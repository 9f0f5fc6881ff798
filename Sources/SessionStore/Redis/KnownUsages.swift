import AuthEngine
import Support

/// What the server has told of the owners' usages a moment ago, with what has been added here since. Used by one thread.
final class KnownUsages {
  private struct Known {
    var usage: RecordUsage
    let readAt: MonotonicInstant
  }

  /// How long it is believed: other processes write too.
  static let life = Duration.seconds(2)
  private static let capacity = 4096

  private var known: [UInt32: Known] = [:]
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// What is known of `owner`; nil when that is too old, or nothing.
  func usage(of owner: UInt32) -> RecordUsage? {
    guard let known = known[owner], clock.monotonicNow - known.readAt < Self.life else { return nil }
    return known.usage
  }

  func note(_ usage: RecordUsage, of owner: UInt32) {
    if known.count >= Self.capacity { known = [:] }
    known[owner] = Known(usage: usage, readAt: clock.monotonicNow)
  }

  /// Records were added, or taken away.
  func add(_ count: Int, of owner: UInt32, in collection: RecordKey.Collection, bytes: Int) {
    known[owner]?.usage.add(count, in: collection, bytes: bytes)
  }

  func forgetAll() { known = [:] }
}
