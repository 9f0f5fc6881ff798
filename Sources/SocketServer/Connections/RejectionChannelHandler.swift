import NIOCore

/// Rejects one connection: writes the reason, ends the write side, reads on for a moment so that the peer gets to
/// see the reason and no reset, closes.
final class RejectionChannelHandler: ChannelInboundHandler, @unchecked Sendable {
  // Sendable because its variables are touched on the channel's event loop only.
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let payload: [UInt8]
  private let linger: Duration?
  private let onClosed: @Sendable () -> Void
  private var timer: Scheduled<Void>?
  private var isFinished = false

  /// Writes `payload` as one line; without `linger` the connection is closed right behind it.
  init(payload: [UInt8], linger: Duration?, onClosed: @escaping @Sendable () -> Void) {
    self.payload = payload
    self.linger = linger
    self.onClosed = onClosed
  }

  func channelActive(context: ChannelHandlerContext) {
    var line = context.channel.allocator.buffer(capacity: payload.count + 1)
    line.writeBytes(payload)
    line.writeInteger(UInt8(ascii: "\n"))
    context.writeAndFlush(Self.wrapOutboundOut(line), promise: nil)
    guard let linger else {
      context.close(promise: nil)
      return
    }
    let channel = context.channel
    timer = context.eventLoop.scheduleTask(in: .init(linger)) { channel.close(promise: nil) }
    context.close(mode: .output, promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // Not forwarded: the pipeline's tail would take it for a mistake.
  }

  func channelInactive(context: ChannelHandlerContext) { finish() }

  func handlerRemoved(context: ChannelHandlerContext) { finish() }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    timer?.cancel()
    onClosed()
  }
}
