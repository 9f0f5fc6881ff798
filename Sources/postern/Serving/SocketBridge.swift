import LocalServer
import PosternJSONRPC
import PosternSupport
import Sidecar
import SidecarGateway

/// Between one connection's bytes and its conversation.
final class SocketBridge: ConnectionDelegate {
  private let service: SidecarService
  private let memory: MemoryReturn
  private let peer: Peer
  private let conversation: JSONRPCConnection
  /// An answer was so large that its memory is to be given back.
  private let hasWrittenLarge: Locked<Bool>

  /// `narrowing` is that of the endpoint that the connection is at.
  init(_ connection: Connection, _ service: SidecarService, _ memory: MemoryReturn, _ narrowing: Narrowing? = nil) {
    self.service = service
    self.memory = memory
    peer = Peer(connection.peer)
    let hasWrittenLarge = Locked(false)
    self.hasWrittenLarge = hasWrittenLarge
    var output = JSONRPCConnection.Output(
      executor: connection.taskExecutor,
      ready: { if connection.isWritable { true } else { await connection.writable() } },
      pause: { $0 ? connection.pause() : connection.resume() },
      write: { text in
        connection.send(text)
        guard text.count > MemoryReturn.threshold else { return }
        hasWrittenLarge.withLock { $0 = true }
        memory.used(bytes: text.count)
      }, close: { connection.closeAfterFlush() })
    output.poster = connection.taskExecutor
    output.isReady = { connection.isWritable }
    output.descriptors = JSONRPCConnection.Output.Descriptors(
      areThere: { connection.hasDescriptors }, take: { connection.takeDescriptors($0) },
      send: { connection.send($0, passing: $1, otherwise: $2) })
    output.frames = JSONRPCConnection.Output.Frames(
      areSpoken: { connection.framing == .headers }, write: { connection.send($1, inFrameWith: $0) })
    conversation = service.open(connection: connection.id, peer: peer, output: output, narrowing: narrowing)
  }

  func received(_ events: [InboundEvent], on connection: Connection) {
    for event in events {
      switch event {
      case .text(let text, let sharesLine):
        if event.isLong, let executor = conversation.longWork {
          receive(text, sharesLine, on: connection, executor)
        } else {
          text.withUnsafeBytes { conversation.receive(text: $0, sharesLine: sharesLine) }
          memory.used(bytes: text.count)
        }
      default:
        if let input = ConversationInput(event) { conversation.receive(input) }
        switch event {
        case .oversized(let limit, _): memory.used(bytes: limit)
        // How many bytes came before the one value too many is not known.
        case .tooComplex, .crowded: memory.used(bytes: .max)
        case .text, .malformed, .violation: break
        }
      }
    }
  }

  /// Reads a long text away from the event loop; only its connection waits for that.
  private func receive(
    _ text: MessageBytes, _ sharesLine: Bool, on connection: Connection, _ executor: any TaskExecutor
  ) {
    connection.pause()
    Task(executorPreference: executor) { [conversation, memory] in
      text.withUnsafeBytes { conversation.receive(text: $0, sharesLine: sharesLine) }
      memory.used(bytes: text.count)
      connection.resume()
    }
  }

  func messageBytes(on connection: Connection) -> Int? { service.messageBytes(for: peer) }

  func inputEnded(on connection: Connection) { conversation.endInput() }

  func closed(_ connection: Connection, reason: CloseReason) {
    switch reason {
    case .peer, .requested, .becameHTTP: break
    case .peerEnded:
      service.connectionBroke(connection: connection.id, of: peer, why: "the caller's process has exited")
    default: service.connectionBroke(connection: connection.id, of: peer, why: "\(reason)")
    }
    service.closed(connection: connection.id, conversation: conversation)
    // What it has not read goes only now.
    if hasWrittenLarge.withLock({ $0 }) { memory.used(bytes: .max) }
  }
}

extension Peer {
  /// The peer as the kernel reports it.
  init(_ credentials: PeerCredentials) {
    self.init(
      uid: credentials.uid, gid: credentials.gid, groups: credentials.groups, pid: credentials.pid ?? 0)
  }
}
