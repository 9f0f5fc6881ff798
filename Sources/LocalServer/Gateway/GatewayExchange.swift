import HTTPMessages
import NIOCore
import NIOHTTP1
import PosternSupport

/// The bytes of a body that have come and were not fetched yet. Not a `BytePipe`: they are in SwiftNIO's buffers.
struct BodyQueue: Sendable {
  private var bytes = ByteBuffer()
  private var end: GatewayBodyPiece?

  /// How many bytes there are.
  var count: Int { bytes.readableBytes }

  /// How much memory they take.
  var heldBytes: Int { bytes.storageCapacity }

  /// Adds bytes. In one buffer: a client may send each byte as a chunk of its own.
  mutating func append(_ more: ByteBuffer) {
    guard end == nil else { return }
    guard count > 0 else { return bytes = more }
    var more = more
    bytes.writeBuffer(&more)
  }

  /// Notes how it ends; the first one counts. A body that has failed gives none of the bytes that came before.
  mutating func finish(_ piece: GatewayBodyPiece) {
    guard end == nil else { return }
    end = piece
    if case .failed = piece { bytes = ByteBuffer() }
  }

  /// The next step; nil: more must come first.
  mutating func next() -> GatewayBodyPiece? {
    guard count > 0 else { return end }
    defer { bytes = ByteBuffer() }
    return .bytes(Array(bytes.readableBytesView))
  }
}

/// One request and its response. All variables belong to the connection's event loop.
final class GatewayExchange: @unchecked Sendable {
  // Sendable because its variables are touched on the connection's event loop only.

  let head: RequestHead
  /// How many bytes its header section had.
  private let size: Int
  var response: ResponseFraming
  var body = BodyQueue()
  /// Whether the client waits for `100 Continue`.
  var needsContinue: Bool
  /// Whether the body was wanted: from then on some of it is read ahead.
  var isReading = false
  var reader: CheckedContinuation<GatewayBodyPiece, Never>?
  var writer: CheckedContinuation<Bool, Never>?
  var task: Task<Void, Never>?
  /// How long, in all, the responder has waited for the body's last 64 KiB.
  var progress = BodyProgress()

  init(_ head: RequestHead, size: Int, closes: Bool) {
    self.head = head
    self.size = size
    needsContinue = head.expectsContinue
    response = ResponseFraming(
      method: head.line.method, minorVersion: head.line.minorVersion, closes: closes || head.closes)
    if head.framing == .none { body.finish(.end) }
  }

  /// The memory for the header section's fields and for bytes of the body.
  var heldBytes: Int { 2 * size + body.heldBytes }

  /// Ends everything that waits, and the task: the client has gone.
  func abandon() {
    body.finish(.failed("ended before its end"))
    resumeReader()
    resumeWriter(false)
    task?.cancel()
  }

  /// Passes on what there is to who waits for it.
  func resumeReader() {
    guard let reader, let piece = body.next() else { return }
    self.reader = nil
    progress.stop()
    reader.resume(returning: piece)
  }

  func resumeWriter(_ isThere: Bool) {
    writer?.resume(returning: isThere)
    writer = nil
  }
}

/// How fast a body comes: only the time counts in which its bytes are waited for.
struct BodyProgress: Sendable {
  /// A body must have so many bytes within ten times the limit of silence.
  static let step = 64 << 10

  private var bytes = 0
  private var waited = TimeAmount.zero
  private var since: NIODeadline?

  /// Counts bytes that have come.
  mutating func received(_ count: Int) {
    bytes += count
    guard bytes >= Self.step else { return }
    (bytes, waited) = (0, .zero)
  }

  /// The responder waits from now on; returns until when it may.
  mutating func start(at now: NIODeadline, limit: TimeAmount) -> NIODeadline {
    since = now
    return now + min(limit, limit * 10 - waited)
  }

  /// Bytes have been passed on.
  mutating func stop(at now: NIODeadline = .now()) {
    if let since { waited = waited + (now - since) }
    since = nil
  }
}

/// The request's body as the responder reads it.
struct ExchangeBody: GatewayRequestBody {
  let connection: GatewayConnection
  let exchange: GatewayExchange
  let length: Int64?

  func next() async -> GatewayBodyPiece {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        connection.perform { $0.read(exchange, continuation) }
      }
    } onCancel: {
      connection.perform { $0.stopReading(exchange) }
    }
  }
}

/// The response as the responder makes it.
struct ExchangeResponse: GatewayResponse {
  let connection: GatewayConnection
  let exchange: GatewayExchange

  func begin(status: Int, fields: HTTPFields, length: Int64?) async throws(GatewayClientGone) {
    try await run { $0.begin(exchange, status, fields, length, $1) }
  }

  func write(_ bytes: [UInt8]) async throws(GatewayClientGone) { try await run { $0.write(exchange, bytes, $1) } }

  func end() async throws(GatewayClientGone) { try await run { $0.end(exchange, $1) } }

  private func run(
    _ step: @escaping @Sendable (GatewayConnection, CheckedContinuation<Bool, Never>) -> Void
  ) async throws(GatewayClientGone) {
    let isThere = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in connection.perform { step($0, continuation) } }
    } onCancel: {
      connection.perform { $0.stopWriting(exchange) }
    }
    guard isThere else { throw GatewayClientGone() }
  }
}

/// Runs the tasks of connections on their event loop: a request needs no hop between threads.
final class EventLoopTaskExecutor: TaskExecutor {
  let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// The steps of the responder.
extension GatewayConnection {
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
    exchange.isReading = false
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
      awaitOutput()
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
    writes += 1
    link.channel.write(buffer).whenComplete { [self] _ in
      writes -= 1
      hasWritten()
    }
    link.channel.eventLoop.execute { [link] in link.channel.flush() }
  }

  private func waitForCapacity(_ exchange: GatewayExchange, _ continuation: CheckedContinuation<Bool, Never>) {
    countHeldBytes()
    // Who has more than its share waits until the client has taken everything.
    guard !link.channel.isWritable || isOverShare else { return continuation.resume(returning: true) }
    exchange.resumeWriter(false)
    exchange.writer = continuation
    awaitOutput()
    update()
  }

  private func hasWritten() {
    countHeldBytes()
    guard writes == 0, link.channel.isWritable, let exchange, exchange.writer != nil else { return }
    timer.output = nil
    exchange.resumeWriter(true)
  }

  /// The client has some time from now on to take a byte.
  func awaitOutput() {
    timer.unwritten = unwrittenBytes
    timer.output = .now() + TimeAmount(server.configuration.timeouts.stall)
  }

  /// How many bytes wait for the client.
  var unwrittenBytes: Int { (try? link.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

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

  func responderEnded(_ exchange: GatewayExchange) {
    // Half a response must not look like a whole one.
    if isCurrent(exchange) { leave() }
  }
}

/// When a connection has waited for long enough: for its client's bytes, and for its client to take some.
struct ConnectionTimer {
  var input: NIODeadline?
  var output: NIODeadline?
  /// How many bytes waited for the client when `output` was set.
  var unwritten = 0
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

/// The state of reading a connection.
struct ConnectionInput {
  /// Whether the client has closed its side.
  var hasEnded = false
  /// Whether a read was requested that is not complete.
  var isReading = false
  /// Bytes of a body that may still be dropped.
  var discardable = 0
  /// How many requests have come.
  var requests = 0
  /// Whether the last response has been written.
  var isAnswered = false
  /// Whether bytes are being looked at further up the stack.
  var isAdvancing = false
}

/// A request as the parser behind the guard has read it.
struct ParsedRequest {
  var head: HTTPRequestHead?
  var hasEnded = false
  var hasFailed = false

  /// Whether the parser has read what the guard has.
  func isSame(as guarded: RequestHead) -> Bool {
    guard !hasFailed, let head else { return false }
    guard head.method.rawValue == guarded.line.parsedMethod, head.uri.hasSameBytes(as: guarded.line.target),
      head.version == HTTPVersion(major: 1, minor: guarded.line.minorVersion)
    else { return false }
    let lines = guarded.fields.lines.filter { $0.name.lowercasedASCII() != "upgrade" }
    // It leaves tabs behind a value, and has replacement characters for what is not UTF-8.
    return lines.count == head.headers.count
      && zip(lines, head.headers).allSatisfy {
        $0.name.hasSameBytes(as: $1.name)
          && String(decoding: FieldOctets.bytes($0.value), as: UTF8.self).hasSameBytes(
            as: HTTPFieldRules.trimmed($1.value))
      }
  }
}

extension RequestHead.Framing {
  /// The body's length; nil: it comes in chunks.
  var length: Int64? {
    switch self {
    case .none: 0
    case .length(let length): length
    case .chunked: nil
    }
  }
}
