import NIOCore

/// Closes a connection on which nothing has moved for `Limits.idle`.
final class IdleCloseHandler: ChannelInboundHandler {
  typealias InboundIn = Any
  typealias InboundOut = Any

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is IdleStateHandler.IdleStateEvent {
      context.close(promise: nil)
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }
}
