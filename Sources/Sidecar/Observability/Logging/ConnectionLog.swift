package import Logging
import PosternObservability
package import PosternSupport

/// Logs connections, with a bound for each user, because any user may connect.
package struct ConnectionLog: Sendable {
  private let broken: BoundedLog
  private let strangers: BoundedLog

  package init(_ logger: Logger, clock: any EngineClock) {
    broken = BoundedLog(logger, clock: clock)
    strangers = BoundedLog(logger, clock: clock, rate: RateLimit(perSecond: 1.0 / 60, burst: 1))
  }

  /// Logs a connection that was closed by neither side.
  package func broke(_ connection: UInt64, of peer: Peer, why reason: String) {
    broken.log(
      .info, "connection broken", of: peer.uid,
      .of([
        .connection: .stringConvertible(connection), .uid: .stringConvertible(peer.uid), .reason: .string(reason),
      ]))
  }

  /// Logs that a message was rejected that is no call; called once for each connection and kind of error.
  package func rejectedMessage(_ connection: UInt64, of peer: Peer, why reason: String) {
    broken.log(
      .info, "message rejected", of: peer.uid,
      .of([
        .connection: .stringConvertible(connection), .uid: .stringConvertible(peer.uid), .reason: .string(reason),
      ]))
  }

  /// Logs a connection that was rejected because of a limit.
  package func rejected(_ peer: Peer, why reason: String) {
    broken.log(
      .notice, "connection rejected", of: peer.uid,
      .of([.uid: .stringConvertible(peer.uid), .reason: .string(reason)]))
  }

  /// Logs a connection of a user whose uid this user namespace does not map.
  func cannotTell(_ peer: Peer) {
    let text = "a caller is rejected: this user namespace does not map its uid, which all such users have"
    strangers.log(.warning, text, of: peer.uid, .of([.uid: .stringConvertible(peer.uid)]))
  }

  /// Logs that an endpoint was made.
  package func made(_ endpoint: String, of peer: Peer) {
    broken.log(
      .info, "endpoint made", of: peer.uid,
      .of([.endpoint: .string(endpoint), .uid: .stringConvertible(peer.uid)]))
  }

  /// Logs that an endpoint ended.
  package func ended(_ endpoint: String, of peer: Peer, why reason: String) {
    broken.log(
      .info, "endpoint ended", of: peer.uid,
      .of([.endpoint: .string(endpoint), .uid: .stringConvertible(peer.uid), .reason: .string(reason)]))
  }

  /// Logs that an endpoint has no socket because of a fault.
  func noSocket(_ endpoint: String, of peer: Peer, why fault: String) {
    broken.log(
      .error, "endpoint without a socket", of: peer.uid,
      .of([.endpoint: .string(endpoint), .uid: .stringConvertible(peer.uid), .error: .string(fault)]))
  }
}

/// Why a connection is rejected.
package enum ConnectionRejection: String, Sendable {
  /// The limit of connections is reached.
  case connections = "connections"
  /// The limit of connections of one uid is reached.
  case connectionsPerUid = "connections_per_uid"
  /// The limit of connections of one endpoint is reached.
  case connectionsPerEndpoint = "connections_per_endpoint"
  /// The endpoint is for another process.
  case otherProcess = "other_process"

  package var message: String {
    switch self {
    case .connections: "Too many connections (limits.connections)"
    case .connectionsPerUid: "Too many connections of this user (limits.connectionsPerUid)"
    case .connectionsPerEndpoint: "Too many connections of this endpoint"
    case .otherProcess: "The endpoint is for another process"
    }
  }
}
