import NIOCore

/// Pauses accepting after a failed `accept()`: without descriptors (EMFILE) the listening socket stays readable, and
/// trying again at once would keep a processor busy until another connection ends. New peers wait in the backlog.
final class AcceptPauseHandler: ChannelInboundHandler, @unchecked Sendable {
  // Sendable because its variable is touched on the channel's event loop only.
  typealias InboundIn = any Channel

  /// How long to leave the backlog alone.
  static let pause = TimeAmount.milliseconds(100)

  private var isPaused = false

  init() {}

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // NIO closes the listener itself when the error is not one to recover from.
    guard context.channel.isActive, !isPaused else { return }
    isPaused = true
    let channel = context.channel
    // Turning automatic reading off takes the socket out of epoll; holding back `read()` alone would not.
    try? channel.syncOptions?.setOption(.autoRead, value: false)
    context.eventLoop.scheduleTask(in: Self.pause) {
      self.isPaused = false
      try? channel.syncOptions?.setOption(.autoRead, value: true)
    }
  }
}
