import PosternRuntime
import PosternSupport

/// One connection on its event loop: passes what happens to the socket on to the parts of the connection, and makes and
/// dismisses its delegate.
final class ConnectionHandler: ReadinessHandler, IterationEnd, @unchecked Sendable {
  // Sendable because its parts are used on the loop only; other threads hold the reference merely to get there.

  private let connection: Connection
  private let socket: ConnectionSocket
  private let writer: OutboxWriter
  private let delivery: InboundDelivery
  private let onClosed: @Sendable (Connection) -> Void
  /// At an endpoint it does not matter which process it is.
  private let isAtEndpoint: Bool
  /// Serves the connection if it speaks HTTP; nil: nobody does.
  private let serveHTTP: HTTPAdoption?
  /// The first bytes, until they decide the protocol; nil from then on.
  private var firstBytes: ByteBuffer?

  /// Serves HTTP on a descriptor, which it owns from then on and of which it has read some bytes; calls `onClosed` when
  /// it is closed. On the connection's event loop.
  typealias HTTPAdoption = (
    _ descriptor: CInt, _ received: ByteBuffer, _ onClosed: @escaping @Sendable () -> Void
  ) -> Void

  init(
    connection: Connection, executor: ConnectionTaskExecutor, descriptor: CInt, reader: SocketReader,
    framer: InboundFramer, timeouts: SocketServer.Timeouts, isAtEndpoint: Bool,
    serveHTTP: HTTPAdoption?,
    onClosed: @escaping @Sendable (Connection) -> Void
  ) {
    self.connection = connection
    self.onClosed = onClosed
    self.isAtEndpoint = isAtEndpoint
    self.serveHTTP = serveHTTP
    firstBytes = serveHTTP == nil ? nil : ByteBuffer()
    socket = ConnectionSocket(descriptor, of: connection, reader, lingerTime: timeouts.linger)
    writer = OutboxWriter(connection, socket, timeout: timeouts.write)
    delivery = InboundDelivery(
      connection, socket, writer, executor: executor, framer: framer, stallTimeout: timeouts.stall)
    writer.whenWritabilityChanges = { [unowned self] in writabilityChanged() }
  }

  // MARK: - Life

  /// Begins to read. What the delegate sends while it is made goes out first.
  func start(_ makeDelegate: (Connection) -> any ConnectionDelegate) throws(EpollError) {
    try socket.activate(
      self, onEnd: { [unowned self] in finish() }, onClosed: { [onClosed, connection] in onClosed(connection) })
    connection.attach(self)
    delivery.delegate = makeDelegate(connection)
    writer.drain()
  }

  private func finish() {
    writer.stop()
    delivery.stop()
    connection.didClose()
    delivery.delegate?.closed(connection, reason: socket.closeReason ?? .peer)
    delivery.delegate = nil
  }

  // MARK: - Events of the socket

  func ready(_ readiness: Readiness) {
    if readiness.contains(.hungUp) { return hangUp() }
    if readiness.contains(.writable) { writeOn() }
    if readiness.contains(.readable), socket.isActive { read() }
  }

  /// One read, then the next connection is read.
  private func read() {
    switch socket.read() {
    case .bytes(let bytes):
      receive(bytes)
      delivery.updateReading()
    case .end: endInput()
    case .nothing, nil: break
    }
  }

  private func receive(_ bytes: ByteBuffer) {
    guard var first = firstBytes else { return delivery.receive(bytes) }
    if first.isEmpty { first = bytes } else { first.append(bytes) }
    switch first.withUnsafeBytes({ ProtocolStart($0) }) {
    case .undecided: firstBytes = first
    case .messages:
      firstBytes = nil
      delivery.receive(first)
    case .http:
      firstBytes = nil
      socket.handOver { [serveHTTP] descriptor, onClosed in serveHTTP?(descriptor, first, onClosed) }
    }
  }

  private func endInput() {
    // Too few to be anything.
    if let first = firstBytes.take(), !first.isEmpty { delivery.receive(first) }
    guard socket.phase != .lingering else { return socket.closeNow(.requested) }
    delivery.endInput()
  }

  private func writeOn() {
    if socket.writeOn() { writer.didWrite() }
  }

  /// The peer has closed: what it has sent before is read, and the connection ends. It can send no more.
  private func hangUp() {
    while socket.isActive {
      switch socket.read() {
      case .bytes(let bytes): receive(bytes)
      case .end, .nothing, nil: return socket.closeNow(.peer)
      }
    }
  }

  private func writabilityChanged() {
    if socket.backlog.isWritable { delivery.resume() }
    delivery.delegate?.writabilityChanged(on: connection)
  }

  // MARK: - Events of the connection

  /// Something was sent.
  func drain() { writer.drain() }

  /// Something was sent in this iteration.
  func endIteration() { drain() }

  /// The connection was resumed.
  func inputResumes() { delivery.unpause() }

  /// Closes both directions now.
  func closeNow(_ reason: CloseReason) { socket.closeNow(reason) }

  /// See `ConnectionSocket.checkPeerProcess`.
  func checkPeerProcess() -> Bool { isAtEndpoint || socket.checkPeerProcess() }
}
