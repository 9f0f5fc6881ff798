import JSONRPC
import Sidecar
import SocketServer

/// Between one connection's bytes and its conversation.
final class SocketBridge: ConnectionDelegate {
  private let service: SidecarService
  private let session: RPCSession

  init(_ connection: Connection, _ service: SidecarService) {
    self.service = service
    let peer = Peer(
      uid: connection.peer.uid, gid: connection.peer.gid, groups: connection.peer.groups,
      pid: connection.peer.pid ?? 0)
    session = service.open(
      connection: connection.id, peer: peer,
      output: RPCSession.Output(
        executor: connection.taskExecutor,
        ready: { if connection.isWritable { true } else { await connection.writable() } },
        write: { connection.send($0) }, close: { connection.closeAfterFlush() }))
  }

  func received(_ events: [InboundEvent], on connection: Connection) {
    for event in events {
      switch event {
      case .text(let text, let sharesLine):
        text.withUnsafeBytes { session.receive(text: $0, sharesLine: sharesLine) }
      case .malformed(let reason, let sharesLine): session.receive(.malformed(reason, sharesLine: sharesLine))
      case .oversized(_, let sharesLine): session.receive(.oversized(sharesLine: sharesLine))
      case .violation(let reason): session.receive(.violation(reason))
      }
    }
  }

  func inputEnded(on connection: Connection) { session.endInput() }

  func closed(_ connection: Connection, reason: CloseReason) {
    switch reason {
    case .peer, .requested: break
    case .peerEnded: service.connectionBroke(connection: connection.id, why: "the caller's process has ended")
    default: service.connectionBroke(connection: connection.id, why: "\(reason)")
    }
    service.closed(connection: connection.id, session: session)
  }
}
