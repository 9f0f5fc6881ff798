package import Logging
package import PosternSupport
import SidecarAccess

/// A log of what callers can bring about as often as they like: of each kind of line only so many of each user, the
/// first ones among them. The next one that is written contains the number of those that were not.
package struct BoundedLog: Sendable {
  /// A kind of line: the text, and the name in the configuration that it is about.
  private struct Kind: Hashable {
    let text: String
    let name: String
  }

  /// More kinds than a configuration has: those beyond it share an account, since a reload may bring new names each
  /// time.
  private static let capacity = 1024

  private let logger: Logger
  private let clock: any EngineClock
  private let rate: RateLimit
  private let ledgers = Locked<[Kind: RejectionSampler]>([:])

  /// By default ten at once and one each ten seconds.
  package init(
    _ logger: Logger, clock: any EngineClock, rate: RateLimit = RateLimit(perSecond: 0.1, burst: 10)
  ) {
    self.logger = logger
    self.clock = clock
    self.rate = rate
  }

  /// Logs `text` about `name`, which is configured; of `uid`, or the peer of the running task. Never of a kind that
  /// a caller makes up.
  package func log(
    _ level: Logger.Level, _ text: String, about name: String = "", of uid: UInt32? = nil,
    _ metadata: @autoclosure () -> Logger.Metadata
  ) {
    guard logger.logLevel <= level, let more = admit(text, about: name, of: uid) else { return }
    logger.log(level: level, "\(text)", metadata: Self.metadata(metadata(), more))
  }

  /// How many lines of that kind before this one were not written; nil when this one is not to be either.
  package func admit(_ text: String, about name: String = "", of uid: UInt32? = nil) -> Int64? {
    let kind = Kind(text: text, name: name)
    let ledger = ledgers.withLock { ledgers in
      let kind = ledgers[kind] == nil && ledgers.count >= Self.capacity ? Kind(text: "", name: "") : kind
      let ledger = ledgers[kind] ?? RejectionSampler(clock: clock, rate: rate)
      ledgers[kind] = ledger
      return ledger
    }
    return ledger.admit(uid ?? CurrentPeer.uid ?? PeerID.process.uid)
  }

  /// The metadata of a line before which so many of its kind were not written.
  package static func metadata(_ metadata: Logger.Metadata, _ more: Int64) -> Logger.Metadata {
    more > 0 ? metadata.merging(["notLogged": .stringConvertible(more)]) { $1 } : metadata
  }
}
