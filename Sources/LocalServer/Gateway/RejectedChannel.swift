import NIOCore
import PosternSupport

/// A connection over a limit: gets its response as soon as its method is known, and is closed.
final class RejectedChannel: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  static let rejection = RequestRejection("there are too many connections", status: 503, .overloaded)

  private let linger: TimeAmount?
  private let traceID: String
  private let onEnd: () -> Void
  private var method = RejectedMethod()
  private var isAnswered = false

  /// Without `linger` the connection is closed at once.
  init(_ linger: TimeAmount?, _ traceID: String, onEnd: @escaping () -> Void) {
    self.linger = linger
    self.traceID = traceID
    self.onEnd = onEnd
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    guard let linger else {
      channel.writeAndFlush(ByteBuffer(bytes: Self.rejection.responseWithoutBody), promise: nil)
      return channel.close(promise: nil)
    }
    channel.eventLoop.assumeIsolated().scheduleTask(in: linger) {
      self.answer(channel)
      channel.close(promise: nil)
    }
    channel.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isAnswered else { return }
    method.read(Self.unwrapInboundIn(data).readableBytesView)
    if method.isKnown { answer(context.channel) }
  }

  func channelReadComplete(context: ChannelHandlerContext) { context.channel.read() }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case .inputClosed? = event as? ChannelEvent else { return }
    answer(context.channel)
    context.channel.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) { onEnd() }

  /// To close with unread bytes would discard the response on its way: the rest is read.
  private func answer(_ channel: any Channel) {
    guard !isAnswered else { return }
    isAnswered = true
    let response = Self.rejection.response(isToHead: method.isHead, traceID: traceID)
    channel.writeAndFlush(ByteBuffer(bytes: response)).whenComplete { _ in channel.close(mode: .output, promise: nil) }
  }
}

/// The beginning of a request that is not read any further.
struct RejectedMethod: Sendable {
  private static let head = Array("HEAD ".utf8)

  private var bytes: [UInt8] = []
  /// Whether it can be told from `HEAD`.
  private(set) var isKnown = false

  /// Whether the method is `HEAD`.
  var isHead: Bool { bytes == Self.head }

  /// Reads the next bytes. An empty line may come first, as in `RequestGuard`.
  mutating func read(_ more: some Sequence<UInt8>) {
    for byte in more where !isKnown {
      if bytes.isEmpty, byte == 0x0D || byte == 0x0A { continue }
      bytes.append(byte)
      isKnown = isHead || !Self.head.starts(with: bytes)
    }
  }
}
