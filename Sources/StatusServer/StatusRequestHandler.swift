import NIOCore
import NIOHTTP1

/// One connection's requests, answered one after another.
final class StatusRequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let pages: HTTPStatusServer.Pages
  private var head: HTTPRequestHead?

  init(pages: @escaping HTTPStatusServer.Pages) { self.pages = pages }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    // Nobody asked for one: whoever sends a body is answered without it being read.
    case .body: refuse(context)
    case .end:
      guard let head else { return }
      self.head = nil
      answer(head, context)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func refuse(_ context: ChannelHandlerContext) {
    guard let head else { return }
    self.head = nil
    Self.write(.text(413, "no body is expected"), to: head, isLast: true, on: context.channel)
  }

  private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    let channel = context.channel
    if let refusal = Self.refusal(of: head) {
      return Self.write(refusal, to: head, isLast: !head.isKeepAlive, on: channel)
    }
    // Reading waits meanwhile: answers come in the order of their requests.
    Exchange(pages: pages, head: head, channel: channel).begin()
  }

  private static func refusal(of head: HTTPRequestHead) -> StatusPage? {
    guard head.method == .GET || head.method == .HEAD else { return .text(405, "GET or HEAD") }
    // A web page whose name was made to lead here must not read what it finds (DNS rebinding).
    guard head.headers["host"].count <= 1, isLiteral(head.headers.first(name: "host") ?? "localhost") else {
      return .text(421, "ask by an address, or as localhost")
    }
    return nil
  }

  /// Whether `host` is an address or `localhost`, with or without a port.
  private static func isLiteral(_ host: String) -> Bool {
    if host.hasPrefix("[") { return true }
    let name = host.prefix { $0 != ":" }
    return name.lowercased() == "localhost"
      || !name.isEmpty && name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
  }

  fileprivate static func write(_ page: StatusPage, to head: HTTPRequestHead, isLast: Bool, on channel: any Channel) {
    var headers = HTTPHeaders([
      ("Content-Type", page.contentType), ("Content-Length", "\(page.body.count)"), ("Cache-Control", "no-store"),
      ("X-Content-Type-Options", "nosniff"),
    ])
    if page.status == 405 { headers.add(name: "Allow", value: "GET, HEAD") }
    if isLast { headers.add(name: "Connection", value: "close") }
    let status = HTTPResponseStatus(statusCode: page.status)
    channel.write(
      HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)), promise: nil)
    if head.method != .HEAD {
      channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: page.body))), promise: nil)
    }
    let written = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
    if isLast { written.whenComplete { _ in channel.close(promise: nil) } }
  }
}

/// One request on its way to its page.
private struct Exchange: Sendable {
  let pages: HTTPStatusServer.Pages
  let head: HTTPRequestHead
  let channel: any Channel

  func begin() { Task { await run() } }

  private func run() async {
    let page = await pages(String(head.uri.prefix { $0 != "?" })) ?? .text(404, "not found")
    channel.eventLoop.execute { [self] in
      StatusRequestHandler.write(page, to: head, isLast: !head.isKeepAlive, on: channel)
    }
  }
}
