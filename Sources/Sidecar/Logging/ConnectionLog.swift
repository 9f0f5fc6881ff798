import Logging
import Support

/// What the log says of connections: only so much of each user, for whoever may connect may be anybody.
struct ConnectionLog: Sendable {
  private let logger: Logger
  private let broken: RefusalLedger
  private let strangers: RefusalLedger

  init(_ logger: Logger, clock: any EngineClock) {
    self.logger = logger
    broken = RefusalLedger(clock: clock)
    strangers = RefusalLedger(clock: clock, rate: AccessRules.Rate(perSecond: 1.0 / 60, burst: 1))
  }

  /// A connection was ended that neither side had asked to end.
  func broke(_ connection: UInt64, of peer: Peer, why reason: String) {
    guard let more = broken.admit(peer.uid) else { return }
    log(
      .info, "connection broken", more,
      [
        "connection": .stringConvertible(connection), "uid": .stringConvertible(peer.uid), "reason": .string(reason),
      ])
  }

  /// Somebody connected whose uid this user namespace does not map.
  func cannotTell(_ peer: Peer) {
    guard let more = strangers.admit(peer.uid) else { return }
    let text = "a caller is refused: this user namespace does not map its uid, which all such users have"
    log(.warning, text, more, ["uid": .stringConvertible(peer.uid)])
  }

  private func log(_ level: Logger.Level, _ text: String, _ more: Int64, _ metadata: Logger.Metadata) {
    var metadata = metadata
    if more > 0 { metadata["notLogged"] = .stringConvertible(more) }
    logger.log(level: level, "\(text)", metadata: metadata)
  }
}
