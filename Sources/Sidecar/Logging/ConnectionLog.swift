import Logging
import PosternSupport

/// What the log says of connections: only so much of each user, for whoever may connect may be anybody.
struct ConnectionLog: Sendable {
  private let broken: BoundedLog
  private let strangers: BoundedLog

  init(_ logger: Logger, clock: any EngineClock) {
    broken = BoundedLog(logger, clock: clock)
    strangers = BoundedLog(logger, clock: clock, rate: AccessRules.Rate(perSecond: 1.0 / 60, burst: 1))
  }

  /// A connection was ended that neither side had asked to end.
  func broke(_ connection: UInt64, of peer: Peer, why reason: String) {
    broken.log(
      .info, "connection broken", of: peer.uid,
      [
        "connection": .stringConvertible(connection), "uid": .stringConvertible(peer.uid), "reason": .string(reason),
      ])
  }

  /// Somebody connected whose uid this user namespace does not map.
  func cannotTell(_ peer: Peer) {
    let text = "a caller is refused: this user namespace does not map its uid, which all such users have"
    strangers.log(.warning, text, of: peer.uid, ["uid": .stringConvertible(peer.uid)])
  }
}
