import HTTPMessages
import NIOCore
import NIOHTTP1
import PosternSupport

/// One connection: its bytes go through the guard and the parser, one request after another to the responder, and the
/// responses back. All variables belong to the event loop.
final class GatewayConnection: ChannelInboundHandler, @unchecked Sendable {
  // Sendable because its variables are touched on the connection's event loop only.
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// Bytes of a body that are read ahead of who wants them.
  private static let window = 64 << 10
  /// Bytes of a body that are read and dropped behind a response, so that the connection can go on.
  static let discardable = 64 << 10

  /// The connection's program, channel and number, and who answers its requests.
  struct Link: Sendable {
    let id: UInt64
    /// Whose share its bytes are of.
    let uid: UInt32
    let caller: GatewayRequest.Program
    let channel: any Channel
    let executor: EventLoopTaskExecutor
    let responder: any GatewayResponder
  }

  enum Phase { case open, lingering, closed }

  let link: Link
  let server: GatewayServer
  private var context: ChannelHandlerContext?
  var requestGuard: RequestGuard
  /// Bytes that have come and are not wanted yet.
  private(set) var pending = ByteBuffer()
  var exchange: GatewayExchange?
  private var parsed = ParsedRequest()
  var phase = Phase.open
  var input = ConnectionInput()
  var timer = ConnectionTimer()
  /// What the server has counted of `heldBytes`.
  var countedBytes = 0
  /// Writes that the client's side has not taken.
  var writes = 0

  init(_ link: Link, _ server: GatewayServer) {
    self.link = link
    self.server = server
    requestGuard = RequestGuard(server.configuration.request)
  }

  private var timeouts: GatewayServer.Timeouts { server.configuration.timeouts }

  /// Runs `body` on the event loop: at once, where this is it.
  func perform(_ body: @escaping @Sendable (GatewayConnection) -> Void) {
    let loop = link.channel.eventLoop
    if loop.inEventLoop { body(self) } else { loop.execute { body(self) } }
  }

  // MARK: - Events of the channel

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func channelActive(context: ChannelHandlerContext) {
    // One that was accepted when the server began to drain, and is not in its list.
    setInputDeadline(server.isDraining ? timeouts.acceptGrace : timeouts.head)
    update()
  }

  func channelInactive(context: ChannelHandlerContext) {
    phase = .closed
    timer.cancel()
    exchange?.abandon()
    exchange = nil
    countHeldBytes()
    context.fireChannelInactive()
    self.context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard phase == .open else { return }
    var bytes = Self.unwrapInboundIn(data)
    if pending.readableBytes == 0 { pending = bytes } else { pending.writeBuffer(&bytes) }
    advance()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    input.isReading = false
    update()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard context.channel.isWritable, let exchange else { return }
    timer.output = nil
    exchange.resumeWriter(true)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case .inputClosed? = event as? ChannelEvent else { return context.fireUserInboundEventTriggered(event) }
    input.hasEnded = true
    update()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { link.channel.close(promise: nil) }

  // MARK: - Reading

  /// Takes in the bytes that have come, as far as they are wanted.
  func advance() {
    guard !input.isAdvancing else { return }
    input.isAdvancing = true
    while phase == .open, pending.readableBytes > 0, wantsBytes {
      let (used, event) = pending.withUnsafeReadableBytes { requestGuard.read($0) }
      guard let bytes = pending.readSlice(length: used) else { break }
      switch event {
      case .head(let head, let section): begin(head, section)
      case .body: take(bytes)
      case .rejected(let rejection): reject(rejection)
      case nil: break
      }
    }
    // The memory of what was read is not for connections that wait.
    if pending.readableBytes == 0 { pending = ByteBuffer() }
    input.isAdvancing = false
    update()
  }

  /// Whether bytes that are there would be taken in.
  private var wantsBytes: Bool {
    guard !requestGuard.isComplete, !requestGuard.hasFailed else { return false }
    guard let exchange else { return true }
    guard exchange.isReading, exchange.body.count > 0 else { return exchange.isReading }
    return exchange.body.count < Self.window && !isOverShare
  }

  private func begin(_ head: RequestHead, _ section: [UInt8]) {
    parsed = ParsedRequest()
    context?.fireChannelRead(Self.wrapInboundOut(ByteBuffer(bytes: section)))
    guard parsed.isSame(as: head), parsed.hasEnded == requestGuard.isComplete else {
      return reject(RequestRejection("two parsers do not read the request in the same way"))
    }
    let fields: HTTPFields
    do throws(RequestRejection) {
      fields = link.caller == .loopback ? try server.access.check(head) : head.forwarded
    } catch {
      return reject(error)
    }
    if link.caller == .loopback, input.requests == 0, !server.showsKey(link.id) {
      return reject(GatewayServer.replaced)
    }
    input.requests += 1
    timer.input = nil
    let exchange = GatewayExchange(head, size: section.count, closes: server.isDraining)
    self.exchange = exchange
    let request = GatewayRequest(
      connection: link.id, caller: link.caller, method: head.line.method, path: head.line.path, query: head.line.query,
      authority: head.host, fields: fields,
      body: ExchangeBody(connection: self, exchange: exchange, length: head.framing.length))
    let response = ExchangeResponse(connection: self, exchange: exchange)
    server.responderStarts()
    exchange.task = Task(executorPreference: link.executor) { [server, link] in
      await link.responder.respond(to: request, with: response)
      self.perform { $0.responderEnded(exchange) }
      server.responderEnds()
    }
  }

  /// Passes bytes of a body to the parser, which calls `received(_:)`.
  private func take(_ bytes: ByteBuffer) {
    exchange?.progress.received(bytes.readableBytes)
    let count = bytes.readableBytes
    context?.fireChannelRead(Self.wrapInboundOut(bytes))
    guard !parsed.hasFailed, parsed.hasEnded == requestGuard.isComplete else {
      return reject(RequestRejection("two parsers do not read the body in the same way"))
    }
    if let exchange {
      if requestGuard.isComplete { exchange.body.finish(.end) }
      passOn(exchange)
      return
    }
    input.discardable -= count
    if requestGuard.isComplete { return startNext() }
    if input.discardable <= 0 { linger() }
  }

  /// Takes a part from the parser.
  func received(_ part: HTTPServerRequestPart) {
    switch part {
    case .head(let head): parsed.head = head
    case .body(let bytes): exchange?.body.append(bytes)
    case .end: parsed.hasEnded = true
    }
  }

  func parserFailed() { parsed.hasFailed = true }

  func passOn(_ exchange: GatewayExchange) {
    exchange.resumeReader()
    if exchange.reader == nil { timer.input = nil }
  }

  /// Ends what cannot be read: with a response of its own, unless one is being made already.
  func reject(_ rejection: RequestRejection) {
    requestGuard.fail(rejection)
    let traceID = server.configuration.onRejection(link.caller, rejection, requestGuard.traceparent)
    if let exchange {
      exchange.body.finish(.failed("is malformed: \(rejection.detail)"))
      return passOn(exchange)
    }
    guard input.discardable == 0 else { return linger() }
    linger(behind: rejection.response(isToHead: requestGuard.isHead, traceID: traceID))
  }

  /// The response to the request that is being answered, whose responder is not heard any more.
  func response(to rejection: RequestRejection) -> [UInt8] {
    let traceID = server.configuration.onRejection(link.caller, rejection, requestGuard.traceparent)
    return rejection.response(isToHead: requestGuard.isHead, traceID: traceID)
  }

  // MARK: - Requests and timeouts

  /// Looks after everything that may have changed: the end of the input, the next read, the timer.
  func update() {
    guard phase != .closed else { return }
    countHeldBytes()
    if input.hasEnded, phase == .lingering, input.isAnswered { return link.channel.close(promise: nil) }
    if phase == .open, input.hasEnded, !requestGuard.hasFailed {
      // The request, or the next one, will never be whole.
      let isWhole = exchange != nil && requestGuard.isComplete
      guard isWhole || pending.readableBytes > 0 else { return leave() }
      // Without credentials a closed connection looks like one whose client only sends no more.
      if isWhole, link.caller == .loopback, timer.input == nil { setInputDeadline(timeouts.linger) }
    }
    if phase == .open, exchange == nil, !requestGuard.isIdle, !timer.isForHead {
      setInputDeadline(timeouts.head, isForHead: true)
    }
    if !input.hasEnded, !input.isReading, phase == .lingering || (pending.readableBytes == 0 && wantsBytes) {
      input.isReading = true
      link.channel.read()
    }
    timer.arm(on: link.channel.eventLoop) { [weak self] in self?.timedOut() }
  }

  func setInputDeadline(_ time: Duration, isForHead: Bool = false) {
    timer.input = .now() + TimeAmount(time)
    timer.isForHead = isForHead
    timer.arm(on: link.channel.eventLoop) { [weak self] in self?.timedOut() }
  }

  private func timedOut() {
    let now = NIODeadline.now()
    if let output = timer.output, output <= now {
      guard unwrittenBytes < timer.unwritten else { return leave() }
      awaitOutput()
    }
    guard let deadline = timer.input, deadline <= now else { return update() }
    timer.input = nil
    if phase == .lingering { return link.channel.close(promise: nil) }
    if let exchange {
      guard exchange.reader != nil else { return leave() }
      reject(RequestRejection("the body did not come in time", status: 408, .requestTimeout))
      return update()
    }
    if requestGuard.isIdle { return leave() }
    reject(RequestRejection("the request did not come in time", status: 408, .requestTimeout))
  }

  /// Closes the connection at once: its client has gone, does not read, or has a response that cannot be continued.
  func leave() { link.channel.close(promise: nil) }

  /// Makes the connection ready for the next request.
  func startNext() {
    requestGuard.startNext()
    input.discardable = 0
    guard !server.isDraining else { return linger() }
    setInputDeadline(timeouts.idle)
    advance()
  }

  /// Ends the connection so that the client can read what was sent: this side is closed, and what still comes is
  /// dropped for a moment. To close with unread bytes would discard the response on its way.
  func linger(behind bytes: [UInt8] = []) {
    guard phase == .open else { return }
    phase = .lingering
    pending.clear()
    timer.output = nil
    setInputDeadline(timeouts.linger)
    link.channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenComplete { [self] _ in
      input.isAnswered = true
      link.channel.close(mode: .output, promise: nil)
      update()
    }
    update()
  }

  /// Closes a connection without a request: a new one in a moment, since its request may be on the way.
  func drain() {
    guard phase == .open, exchange == nil, requestGuard.isIdle, pending.readableBytes == 0 else { return }
    if input.requests == 0 { setInputDeadline(timeouts.acceptGrace) } else { linger() }
  }
}
