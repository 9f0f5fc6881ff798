package import AuthEngine
package import Logging
import PosternObservability
package import PosternSupport

/// A log for events that callers can cause at will. Rate-limited for each kind of line and user; the next line states
/// how many were suppressed.
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
  /// The call whose lines these are.
  private var scope = CallScope.process

  /// By default ten at once and one each ten seconds.
  package init(
    _ logger: Logger, clock: any EngineClock, rate: RateLimit = RateLimit(perSecond: 0.1, burst: 10)
  ) {
    self.logger = logger
    self.clock = clock
    self.rate = rate
  }

  /// Returns the log for lines of that call: they count as its uid's, and have its method and trace.
  package func of(_ scope: CallScope) -> BoundedLog {
    var log = self
    log.scope = scope
    return log
  }

  /// Logs `text` about `name`, which is configured; of `uid`, where that is not the call's. Never of a kind that a
  /// caller makes up.
  package func log(
    _ level: Logger.Level, _ text: String, about name: String = "", of uid: UInt32? = nil,
    _ metadata: @autoclosure () -> Logger.Metadata
  ) {
    guard logger.logLevel <= level, let more = admit(text, about: name, of: uid) else { return }
    logger.log(level: level, "\(text)", metadata: Self.metadata(scope.logged(metadata()), more))
  }

  /// The number of lines of that kind that were suppressed before this one; nil when this one is, too.
  package func admit(_ text: String, about name: String = "", of uid: UInt32? = nil) -> Int64? {
    let kind = Kind(text: text, name: name)
    let ledger = ledgers.withLock { ledgers in
      let kind = ledgers[kind] == nil && ledgers.count >= Self.capacity ? Kind(text: "", name: "") : kind
      let ledger = ledgers[kind] ?? RejectionSampler(clock: clock, rate: rate)
      ledgers[kind] = ledger
      return ledger
    }
    return ledger.admit(uid ?? scope.uid)
  }

  /// Adds `notLogged`, the number of suppressed lines.
  package static func metadata(_ metadata: Logger.Metadata, _ more: Int64) -> Logger.Metadata {
    more > 0 ? metadata.merging(.of([.notLogged: .stringConvertible(more)])) { $1 } : metadata
  }
}

extension CallScope {
  /// Returns `metadata` with the call's method and trace; as it is for work of no call, and for calls that are not traced.
  package func logged(_ metadata: Logger.Metadata) -> Logger.Metadata {
    guard let label else { return metadata }
    return metadata.merging(.of([.method: .string(label.method), .traceId: .string(label.traceID)])) { own, _ in own }
  }
}
