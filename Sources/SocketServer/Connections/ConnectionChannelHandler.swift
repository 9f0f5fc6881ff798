import NIOCore
import PosternSupport

/// One connection's end of the channel pipeline: passes what happens to the channel on to the parts of the connection,
/// and makes and dismisses its delegate.
final class ConnectionChannelHandler: ChannelDuplexHandler, @unchecked Sendable {
  // Sendable because its parts are used on the channel's event loop only; other threads hold the reference merely to
  // get there.
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let connection: Connection
  private let channel: ConnectionChannel
  private let writer: OutboxWriter
  private let delivery: InboundDelivery
  private let makeDelegate: @Sendable (Connection) -> any ConnectionDelegate
  private let onClosed: @Sendable (Connection) -> Void

  init(
    connection: Connection,
    executor: ConnectionTaskExecutor,
    descriptor: CInt,
    framer: InboundFramer,
    timeouts: SocketServer.Timeouts,
    makeDelegate: @escaping @Sendable (Connection) -> any ConnectionDelegate,
    onClosed: @escaping @Sendable (Connection) -> Void
  ) {
    self.connection = connection
    self.makeDelegate = makeDelegate
    self.onClosed = onClosed
    channel = ConnectionChannel(descriptor: descriptor, lingerTime: timeouts.linger)
    writer = OutboxWriter(connection, channel, timeout: timeouts.write)
    delivery = InboundDelivery(
      connection, channel, writer, executor: executor, framer: framer, stallTimeout: timeouts.stall)
  }

  // MARK: - Life

  func handlerAdded(context: ChannelHandlerContext) {
    channel.attach(context)
    connection.attach(self)
    delivery.delegate = makeDelegate(connection)
  }

  func channelActive(context: ChannelHandlerContext) {
    channel.activate()
    // What the delegate sent while it was made waited for the channel.
    writer.drain()
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    finish()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { finish() }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    closeNow((error as? IOError).map { .failed(errno: $0.errnoCode) } ?? .failed(errno: 0))
  }

  private func finish() {
    guard channel.detach() else { return }
    writer.stop()
    delivery.stop()
    connection.didClose()
    delivery.delegate?.closed(connection, reason: channel.closeReason ?? .peer)
    delivery.delegate = nil
    onClosed(connection)
  }

  // MARK: - Channel events

  func read(context: ChannelHandlerContext) { delivery.read() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { delivery.receive(Self.unwrapInboundIn(data)) }

  func channelReadComplete(context: ChannelHandlerContext) { writer.endBatch() }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .some(.inputClosed) = event as? ChannelEvent { delivery.endInput() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    writer.reportChannel(context)
    if context.channel.isWritable { delivery.resume() }
    delivery.delegate?.writabilityChanged(on: connection)
    context.fireChannelWritabilityChanged()
  }

  // MARK: - Events of the connection

  /// Something was sent.
  func drain() { writer.drain() }

  /// The connection was resumed.
  func inputResumes() { delivery.unpause() }

  /// Closes both directions now.
  func closeNow(_ reason: CloseReason) { channel.closeNow(reason) }

  /// See `ConnectionChannel.checkPeerProcess`.
  func checkPeerProcess() -> Bool { channel.checkPeerProcess() }
}
