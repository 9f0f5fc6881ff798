import NIOCore
import NIOHTTP1

/// Answers the requests of one connection, one after another: the next one is read when the response before it is sent.
final class StatusRequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let pages: HTTPStatusServer.Pages
  fileprivate let connections: ConnectionLimiter
  private var head: HTTPRequestHead?
  /// Whether the last request has its answer, or will have it.
  private var isAnswered = false
  /// Whether an answer is being made, or written.
  private var isAnswering = false
  /// Whether the client has closed its side.
  private var isInputClosed = false
  private var timer: Scheduled<Void>?

  init(pages: @escaping HTTPStatusServer.Pages, connections: ConnectionLimiter) {
    self.pages = pages
    self.connections = connections
  }

  func channelActive(context: ChannelHandlerContext) {
    wait(context.channel)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      isAnswered = false
    // No path takes a body: it is rejected unread.
    case .body: rejectBody(context)
    case .end:
      guard let head else { return }
      self.head = nil
      wait(context.channel)
      answer(head, context)
    }
  }

  /// The decoder closes the connection as soon as this returns, so that the response is written at once; unless another
  /// one is being sent.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if error is HTTPParserError, !isAnswered {
      isAnswered = true
      let head = head ?? HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
      write(.text(400, "malformed HTTP request"), to: head, isLast: true, on: context.channel)
    }
    context.close(promise: nil)
  }

  /// Restarts the timeout for a whole request, or for sending a response; single bytes do not restart it.
  private func wait(_ channel: any Channel) {
    timer?.cancel()
    timer = channel.eventLoop.scheduleTask(in: HTTPStatusServer.Limits.patience) { channel.close(promise: nil) }
  }

  /// No more requests arrive; the response that is being made is the last one.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .inputClosed? = event as? ChannelEvent {
      isInputClosed = true
      if !isAnswering { context.close(promise: nil) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  private func rejectBody(_ context: ChannelHandlerContext) {
    guard let head else { return }
    self.head = nil
    isAnswered = true
    write(.text(413, "no body is expected"), to: head, isLast: true, on: context.channel)
  }

  private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    let channel = context.channel
    isAnswered = true
    isAnswering = true
    guard let target = RequestTarget(head) else {
      let page = StatusPage.text(400, "the request needs exactly one Host")
      return answerLater(page, to: head, isLast: true, on: channel)
    }
    if let error = Self.error(for: head, target) {
      return answerLater(error, to: head, isLast: !head.isKeepAlive, on: channel)
    }
    connections.setBusy(true, channel)
    // Reading waits meanwhile: answers come in the order of their requests.
    Exchange(pages: pages, path: target.path, head: head, channel: channel).begin()
  }

  private static func error(for head: HTTPRequestHead, _ target: RequestTarget) -> StatusPage? {
    guard head.method == .GET || head.method == .HEAD else { return .text(405, "GET or HEAD") }
    // A web page whose name was made to lead here must not read what it finds (DNS rebinding).
    guard target.isLiteral else { return .text(421, "use an address or localhost as the host") }
    return nil
  }

  /// Answers in the next iteration of the loop: the end of a response delivers the next request at once, and thousands
  /// of rejected requests would nest.
  private func answerLater(_ page: StatusPage, to head: HTTPRequestHead, isLast: Bool, on channel: any Channel) {
    channel.eventLoop.assumeIsolated().execute { self.write(page, to: head, isLast: isLast, on: channel) }
  }

  fileprivate func write(_ page: StatusPage, to head: HTTPRequestHead, isLast: Bool, on channel: any Channel) {
    let isLast = isLast || isInputClosed
    var headers = HTTPHeaders([
      ("Content-Type", page.contentType), ("Content-Length", "\(page.body.count)"), ("Cache-Control", "no-store"),
      ("X-Content-Type-Options", "nosniff"),
    ])
    if page.status == 405 { headers.add(name: "Allow", value: "GET, HEAD") }
    if isLast { headers.add(name: "Connection", value: "close") }
    let status = HTTPResponseStatus(statusCode: page.status)
    let start = HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))
    let left: EventLoopFuture<Void>
    if head.method == .HEAD {
      left = channel.writeAndFlush(start)
    } else {
      channel.write(start, promise: nil)
      left = channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: page.body))))
    }
    // The end of an answer lets the next request in: a client that does not read has one answer waiting, not many.
    left.assumeIsolated().whenSuccess {
      self.isAnswering = false
      let written = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
      if isLast || self.isInputClosed && !self.isAnswering {
        written.whenComplete { _ in channel.close(promise: nil) }
      }
    }
  }
}

/// One request on its way to its page.
private struct Exchange: Sendable {
  let pages: HTTPStatusServer.Pages
  let path: String
  let head: HTTPRequestHead
  let channel: any Channel

  func begin() { Task { await run() } }

  private func run() async {
    let page = await pages(path) ?? .text(404, "not found")
    channel.eventLoop.execute { [self] in
      let handler = try? channel.pipeline.syncOperations.handler(type: StatusRequestHandler.self)
      handler?.connections.setBusy(false, channel)
      handler?.write(page, to: head, isLast: !head.isKeepAlive, on: channel)
    }
  }
}
