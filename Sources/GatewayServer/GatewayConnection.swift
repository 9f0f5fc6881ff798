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
  private static let discardable = 64 << 10

  /// Who is connected, and how.
  struct Link: Sendable {
    let id: UInt64
    let caller: GatewayRequest.Caller
    let channel: any Channel
    let executor: EventLoopTaskExecutor
  }

  private enum Phase { case open, lingering, closed }

  private struct Input {
    /// Whether the client has closed its side.
    var hasEnded = false
    /// Whether a read was requested that is not complete.
    var isReading = false
    /// Bytes of a body that may still be dropped.
    var discardable = 0
    var requests = 0
    /// Whether bytes are being looked at further up the stack.
    var isAdvancing = false
  }

  /// The request as the parser behind the guard has read it.
  private struct Parsed {
    var head: HTTPRequestHead?
    var hasEnded = false
    var hasFailed = false
  }

  let link: Link
  private let server: GatewayServer
  private var context: ChannelHandlerContext?
  private var requestGuard: RequestGuard
  private var pending = ByteBuffer()
  private var exchange: GatewayExchange?
  private var parsed = Parsed()
  private var phase = Phase.open
  private var input = Input()
  private var timer = ConnectionTimer()

  init(_ link: Link, _ server: GatewayServer) {
    self.link = link
    self.server = server
    requestGuard = RequestGuard(server.configuration.request)
  }

  /// Runs `body` on the event loop: at once, where this is it.
  func perform(_ body: @escaping @Sendable (GatewayConnection) -> Void) {
    let loop = link.channel.eventLoop
    if loop.inEventLoop { body(self) } else { loop.execute { body(self) } }
  }

  // MARK: - Events of the channel

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func channelActive(context: ChannelHandlerContext) {
    setInputDeadline(server.configuration.timeouts.head)
    update()
  }

  func channelInactive(context: ChannelHandlerContext) {
    phase = .closed
    timer.cancel()
    exchange?.abandon()
    exchange = nil
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
  private func advance() {
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
    input.isAdvancing = false
    update()
  }

  /// Whether bytes that are there would be taken in.
  private var wantsBytes: Bool {
    guard !requestGuard.isComplete, !requestGuard.hasFailed else { return false }
    guard let exchange else { return true }
    return exchange.isReading && exchange.body.count < Self.window
  }

  private func begin(_ head: RequestHead, _ section: [UInt8]) {
    parsed = Parsed()
    context?.fireChannelRead(Self.wrapInboundOut(ByteBuffer(bytes: section)))
    guard isSame(head), parsed.hasEnded == requestGuard.isComplete else {
      return reject(RequestRejection("two parsers do not read the request in the same way"))
    }
    let fields: HTTPFields
    do throws(RequestRejection) {
      fields = link.caller == .loopback ? try server.access.check(head) : head.forwarded
    } catch {
      return reject(error)
    }
    input.requests += 1
    timer.input = nil
    let exchange = GatewayExchange(head, closes: server.isDraining)
    self.exchange = exchange
    let length: Int64? =
      switch head.framing {
      case .none: 0
      case .length(let length): length
      case .chunked: nil
      }
    let request = GatewayRequest(
      connection: link.id, caller: link.caller, method: head.line.method, path: head.line.path, query: head.line.query,
      authority: head.host, fields: fields,
      body: ExchangeBody(connection: self, exchange: exchange, length: length))
    let response = ExchangeResponse(connection: self, exchange: exchange)
    exchange.task = Task(executorPreference: link.executor) { [responder = server.responder] in
      await responder.respond(to: request, with: response)
      self.perform { $0.responderEnded(exchange) }
    }
  }

  /// Whether the parser has read what the guard has.
  private func isSame(_ head: RequestHead) -> Bool {
    guard !parsed.hasFailed, let other = parsed.head else { return false }
    guard other.method.rawValue == head.line.method, other.uri.hasSameBytes(as: head.line.target),
      other.version == HTTPVersion(major: 1, minor: head.line.minorVersion)
    else { return false }
    let lines = head.fields.lines.filter { $0.name.lowercasedASCII() != "upgrade" }
    return lines.count == other.headers.count
      && zip(lines, other.headers).allSatisfy {
        $0.name.hasSameBytes(as: $1.name) && $0.value.hasSameBytes(as: $1.value)
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

  /// What the parser has found.
  func received(_ part: HTTPServerRequestPart) {
    switch part {
    case .head(let head): parsed.head = head
    case .body(let bytes): exchange?.body.append(bytes)
    case .end: parsed.hasEnded = true
    }
  }

  func parserFailed() { parsed.hasFailed = true }

  private func passOn(_ exchange: GatewayExchange) {
    exchange.resumeReader()
    if exchange.reader == nil { timer.input = nil }
  }

  /// Ends what cannot be read: with a response of its own, unless one is being made already.
  private func reject(_ rejection: RequestRejection) {
    requestGuard.fail(rejection)
    server.configuration.onRejection(link.caller, rejection)
    if let exchange {
      exchange.body.finish(.failed("is malformed: \(rejection.detail)"))
      return passOn(exchange)
    }
    guard input.discardable == 0 else { return linger() }
    linger(behind: rejection.response)
  }

  // MARK: - Requests and timeouts

  /// Looks after everything that may have changed: the end of the input, the next read, the timer.
  private func update() {
    guard phase != .closed else { return }
    if input.hasEnded, phase == .lingering { return link.channel.close(promise: nil) }
    if phase == .open, input.hasEnded, pending.readableBytes == 0, !requestGuard.hasFailed {
      // The request, or the next one, will never be whole.
      guard exchange != nil, requestGuard.isComplete else { return leave() }
      // Without credentials a closed connection looks like one whose client only sends no more.
      if link.caller == .loopback, timer.input == nil { setInputDeadline(server.configuration.timeouts.linger) }
    }
    if phase == .open, exchange == nil, !requestGuard.isIdle, !timer.isForHead {
      setInputDeadline(server.configuration.timeouts.head)
      timer.isForHead = true
    }
    if !input.hasEnded, !input.isReading, phase == .lingering || (pending.readableBytes == 0 && wantsBytes) {
      input.isReading = true
      link.channel.read()
    }
    timer.arm(on: link.channel.eventLoop) { [weak self] in self?.timedOut() }
  }

  private func setInputDeadline(_ time: Duration) {
    timer.input = .now() + TimeAmount(time)
    timer.isForHead = false
    timer.arm(on: link.channel.eventLoop) { [weak self] in self?.timedOut() }
  }

  private func timedOut() {
    let now = NIODeadline.now()
    if let output = timer.output, output <= now { return leave() }
    guard let deadline = timer.input, deadline <= now else { return update() }
    timer.input = nil
    if phase == .lingering { return link.channel.close(promise: nil) }
    if let exchange {
      guard exchange.reader != nil else { return leave() }
      reject(RequestRejection("the body did not come in time", status: 408, reason: "request_timeout"))
      return update()
    }
    // A connection that is kept for a next request, or whose client has never sent one.
    if requestGuard.isIdle { return leave() }
    reject(RequestRejection("the request did not come in time", status: 408, reason: "request_timeout"))
  }

  /// Closes the connection at once: its client has gone, does not read, or has a response that cannot be continued.
  private func leave() { link.channel.close(promise: nil) }

  /// Makes the connection ready for the next request.
  private func startNext() {
    requestGuard.startNext()
    input.discardable = 0
    guard !server.isDraining else { return linger() }
    setInputDeadline(server.configuration.timeouts.idle)
    advance()
  }

  /// Ends the connection so that the client can read what was sent: this side is closed, and what still comes is
  /// dropped for a moment. To close with unread bytes would discard the response on its way.
  private func linger(behind bytes: [UInt8] = []) {
    guard phase == .open else { return }
    phase = .lingering
    pending.clear()
    timer.output = nil
    setInputDeadline(server.configuration.timeouts.linger)
    link.channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenComplete { [link] _ in
      link.channel.close(mode: .output, promise: nil)
    }
    update()
  }

  /// Closes a connection without a request, now or behind the one that it has. One that is new may have its request on
  /// the way.
  func drain() {
    guard phase == .open, exchange == nil, requestGuard.isIdle, pending.readableBytes == 0 else { return }
    guard input.requests == 0 else { return linger() }
    setInputDeadline(server.configuration.timeouts.acceptGrace)
  }

  /// Closes it whatever there is.
  func close() { link.channel.close(promise: nil) }

  // MARK: - The responder

  func read(_ exchange: GatewayExchange, _ continuation: CheckedContinuation<GatewayBodyPiece, Never>) {
    guard exchange.reader == nil else { return continuation.resume(returning: .failed("is being read already")) }
    exchange.isReading = true
    exchange.reader = continuation
    if exchange.needsContinue {
      exchange.needsContinue = false
      if exchange.response.hasBegun {
        exchange.body.finish(.failed("does not come: the response came first"))
      } else if self.exchange === exchange, phase == .open {
        link.channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"), promise: nil)
      }
    }
    exchange.resumeReader()
    if exchange.reader != nil {
      timer.input = exchange.progress.start(at: .now(), limit: TimeAmount(server.configuration.timeouts.stall))
    }
    advance()
  }

  func stopReading(_ exchange: GatewayExchange) {
    exchange.body.finish(.failed("is not wanted any more"))
    passOn(exchange)
  }

  func stopWriting(_ exchange: GatewayExchange) { exchange.resumeWriter(false) }

  func begin(
    _ exchange: GatewayExchange, _ status: Int, _ fields: HTTPFields, _ length: Int64?,
    _ continuation: CheckedContinuation<Bool, Never>
  ) {
    guard isCurrent(exchange) else { return continuation.resume(returning: false) }
    do throws(ResponseFraming.Violation) {
      let bytes = try exchange.response.begin(
        status: status, fields: fields, length: length,
        mustClose: server.isDraining || requestGuard.hasFailed || exchange.needsContinue)
      send(ByteBuffer(bytes: bytes))
      waitForCapacity(exchange, continuation)
    } catch {
      breakOff(continuation)
    }
  }

  func write(_ exchange: GatewayExchange, _ bytes: [UInt8], _ continuation: CheckedContinuation<Bool, Never>) {
    guard isCurrent(exchange) else { return continuation.resume(returning: false) }
    do throws(ResponseFraming.Violation) {
      guard let (before, behind) = try exchange.response.write(bytes.count) else {
        return continuation.resume(returning: true)
      }
      var buffer = link.channel.allocator.buffer(capacity: before.count + bytes.count + behind.count)
      buffer.writeBytes(before)
      buffer.writeBytes(bytes)
      buffer.writeBytes(behind)
      send(buffer)
      waitForCapacity(exchange, continuation)
    } catch {
      breakOff(continuation)
    }
  }

  func end(_ exchange: GatewayExchange, _ continuation: CheckedContinuation<Bool, Never>) {
    guard isCurrent(exchange) else { return continuation.resume(returning: false) }
    do throws(ResponseFraming.Violation) {
      let bytes = try exchange.response.end()
      timer.output = .now() + TimeAmount(server.configuration.timeouts.stall)
      link.channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenComplete { [self] result in
        guard case .success = result, isCurrent(exchange) else { return continuation.resume(returning: false) }
        timer.output = nil
        finish(exchange)
        continuation.resume(returning: true)
      }
      update()
    } catch {
      breakOff(continuation)
    }
  }

  /// Writes at the end of the loop's iteration: head, body and end of a small response leave together.
  private func send(_ buffer: ByteBuffer) {
    link.channel.write(buffer, promise: nil)
    link.channel.eventLoop.execute { [link] in link.channel.flush() }
  }

  private func waitForCapacity(_ exchange: GatewayExchange, _ continuation: CheckedContinuation<Bool, Never>) {
    guard !link.channel.isWritable else { return continuation.resume(returning: true) }
    exchange.resumeWriter(false)
    exchange.writer = continuation
    timer.output = .now() + TimeAmount(server.configuration.timeouts.stall)
    update()
  }

  private func isCurrent(_ exchange: GatewayExchange) -> Bool { self.exchange === exchange && phase == .open }

  /// A response that does not keep to its framing: its client must not take it for a whole one.
  private func breakOff(_ continuation: CheckedContinuation<Bool, Never>) {
    leave()
    continuation.resume(returning: false)
  }

  private func finish(_ exchange: GatewayExchange) {
    self.exchange = nil
    guard !exchange.response.closes, !requestGuard.hasFailed, !exchange.needsContinue else { return linger() }
    if requestGuard.isComplete { return startNext() }
    input.discardable = Self.discardable
    setInputDeadline(server.configuration.timeouts.discard)
    timer.isForHead = true
    advance()
  }

  private func responderEnded(_ exchange: GatewayExchange) {
    // Half a response must not look like a whole one.
    if isCurrent(exchange) { leave() }
  }
}

/// When a connection has waited for long enough: for its client's bytes, and for its client to take some.
struct ConnectionTimer {
  var input: NIODeadline?
  var output: NIODeadline?
  /// Whether `input` is for a request that has begun.
  var isForHead = false
  private var scheduled: (at: NIODeadline, task: Scheduled<Void>)?

  /// Has `action` called at the next deadline, or some time before it: most deadlines are put off before they come.
  mutating func arm(on loop: any EventLoop, _ action: @escaping @Sendable () -> Void) {
    guard let next = [input, output].compactMap({ $0 }).min() else { return }
    let now = NIODeadline.now()
    if let scheduled, scheduled.at > now, scheduled.at <= next { return }
    scheduled?.task.cancel()
    scheduled = (next, loop.scheduleTask(deadline: next, action))
  }

  mutating func cancel() {
    (input, output) = (nil, nil)
    scheduled?.task.cancel()
    scheduled = nil
  }
}

/// Behind the parser: reports what it finds.
final class ParsedRequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart

  private let connection: GatewayConnection

  init(_ connection: GatewayConnection) { self.connection = connection }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { connection.received(Self.unwrapInboundIn(data)) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { connection.parserFailed() }
}
