import HTTPMessages
import PosternRuntime
import PosternSupport

/// The bytes of a body that have come and were not fetched yet. Not a `BytePipe`: one thread uses it, and nothing waits
/// in it.
struct BodyQueue: Sendable {
  private var bytes: [UInt8] = []
  private var end: GatewayBodyPiece?

  /// How many bytes there are.
  var count: Int { bytes.count }

  /// How much memory they take.
  var heldBytes: Int { bytes.capacity }

  /// Adds bytes. In one array: a client may send each byte as a chunk of its own.
  mutating func append(_ more: [UInt8]) {
    guard end == nil else { return }
    if bytes.isEmpty { bytes = more } else { bytes += more }
  }

  /// Notes how it ends; the first one counts. A body that has failed gives none of the bytes that came before.
  mutating func finish(_ piece: GatewayBodyPiece) {
    guard end == nil else { return }
    end = piece
    if case .failed = piece { bytes = [] }
  }

  /// The next step; nil: more must come first.
  mutating func next() -> GatewayBodyPiece? {
    guard !bytes.isEmpty else { return end }
    defer { bytes = [] }
    return .bytes(bytes)
  }
}

/// One request and its response. All variables belong to the connection's event loop.
final class HTTPExchange: @unchecked Sendable {
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
  /// Ends what makes the response; nil: that has ended.
  var cancel: (() -> Void)?
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
    resumeReader(at: MonotonicInstant(nanoseconds: 0))
    resumeWriter(false)
    cancel?()
    cancel = nil
  }

  /// Passes on what there is to who waits for it.
  func resumeReader(at now: MonotonicInstant) {
    guard let reader, let piece = body.next() else { return }
    self.reader = nil
    progress.stop(at: now)
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
  private var waited = Duration.zero
  private var since: MonotonicInstant?

  /// Counts bytes that have come.
  mutating func received(_ count: Int) {
    bytes += count
    guard bytes >= Self.step else { return }
    (bytes, waited) = (0, .zero)
  }

  /// The responder waits from now on; returns until when it may.
  mutating func start(at now: MonotonicInstant, limit: Duration) -> MonotonicInstant {
    since = now
    return now + min(limit, limit * 10 - waited)
  }

  /// Bytes have been passed on.
  mutating func stop(at now: MonotonicInstant) {
    if let since { waited = waited + (now - since) }
    since = nil
  }
}

/// The request's body as the responder reads it.
struct ExchangeBody: GatewayRequestBody {
  let connection: HTTPConnection
  let exchange: HTTPExchange
  let length: Int64?

  func next() async -> GatewayBodyPiece {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !connection.perform({ $0.read(exchange, continuation) }) else { return }
        continuation.resume(returning: .failed("ended before its end"))
      }
    } onCancel: {
      connection.perform { $0.stopReading(exchange) }
    }
  }
}

/// The response as the responder makes it.
struct ExchangeResponse: GatewayResponse {
  let connection: HTTPConnection
  let exchange: HTTPExchange

  func begin(status: Int, fields: HTTPFields, length: Int64?) async throws(GatewayClientGone) {
    try await run { $0.begin(exchange, status, fields, length, $1) }
  }

  func write(_ bytes: [UInt8]) async throws(GatewayClientGone) { try await run { $0.write(exchange, bytes, $1) } }

  func end() async throws(GatewayClientGone) {
    try await run { (connection, continuation) in connection.end(exchange) { continuation.resume(returning: $0) } }
  }

  func answer(
    status: Int, fields: HTTPFields, length: Int64?, body: [UInt8], whenTaken: @escaping @Sendable () -> Void
  ) {
    let isThere = connection.perform { connection in
      connection.answer(exchange, (status, fields, length), body) { _ in whenTaken() }
    }
    if !isThere { whenTaken() }
  }

  private func run(
    _ step: @escaping @Sendable (HTTPConnection, CheckedContinuation<Bool, Never>) -> Void
  ) async throws(GatewayClientGone) {
    let isThere = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if !connection.perform({ step($0, continuation) }) { continuation.resume(returning: false) }
      }
    } onCancel: {
      connection.perform { $0.stopWriting(exchange) }
    }
    guard isThere else { throw GatewayClientGone() }
  }
}

/// The steps of the responder.
extension HTTPConnection {
  func read(_ exchange: HTTPExchange, _ continuation: CheckedContinuation<GatewayBodyPiece, Never>) {
    guard exchange.reader == nil else { return continuation.resume(returning: .failed("is being read already")) }
    exchange.isReading = true
    exchange.reader = continuation
    if exchange.needsContinue {
      exchange.needsContinue = false
      if exchange.response.hasBegun {
        exchange.body.finish(.failed("does not come: the response came first"))
      } else if self.exchange === exchange, phase == .open {
        send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
      }
    }
    exchange.resumeReader(at: socket.loop.now)
    if exchange.reader != nil { timer.input = exchange.progress.start(at: socket.loop.now, limit: timeouts.stall) }
    advance()
  }

  func stopReading(_ exchange: HTTPExchange) {
    exchange.isReading = false
    exchange.body.finish(.failed("is not wanted any more"))
    passOn(exchange)
  }

  func stopWriting(_ exchange: HTTPExchange) { exchange.resumeWriter(false) }

  func begin(
    _ exchange: HTTPExchange, _ status: Int, _ fields: HTTPFields, _ length: Int64?,
    _ continuation: CheckedContinuation<Bool, Never>
  ) {
    guard isCurrent(exchange) else { return continuation.resume(returning: false) }
    do throws(ResponseFraming.Violation) {
      send(try head(of: exchange, (status, fields, length)))
      waitForCapacity(exchange, continuation)
    } catch {
      leave()
      continuation.resume(returning: false)
    }
  }

  private func head(
    of exchange: HTTPExchange, _ head: (status: Int, fields: HTTPFields, length: Int64?)
  ) throws(ResponseFraming.Violation) -> [UInt8] {
    try exchange.response.begin(
      status: head.status, fields: head.fields, length: head.length,
      mustClose: server.isDraining || requestGuard.hasFailed || exchange.needsContinue)
  }

  /// The bytes of a piece of the body, with their framing.
  private func parts(of bytes: [UInt8], _ exchange: HTTPExchange) throws(ResponseFraming.Violation) -> [[UInt8]] {
    guard let (before, behind) = try exchange.response.write(bytes.count) else { return [] }
    return before.isEmpty && behind.isEmpty ? [bytes] : [before, bytes, behind]
  }

  /// Sends a whole response.
  func answer(
    _ exchange: HTTPExchange, _ head: (status: Int, fields: HTTPFields, length: Int64?), _ body: [UInt8],
    _ whenTaken: @escaping @Sendable (Bool) -> Void
  ) {
    guard isCurrent(exchange) else { return whenTaken(false) }
    do throws(ResponseFraming.Violation) {
      socket.write(try self.head(of: exchange, head))
      for part in try parts(of: body, exchange) { socket.write(part) }
    } catch {
      leave()
      return whenTaken(false)
    }
    end(exchange, whenTaken)
  }

  func write(_ exchange: HTTPExchange, _ bytes: [UInt8], _ continuation: CheckedContinuation<Bool, Never>) {
    guard isCurrent(exchange) else { return continuation.resume(returning: false) }
    do throws(ResponseFraming.Violation) {
      let parts = try parts(of: bytes, exchange)
      for part in parts { send(part) }
      guard !parts.isEmpty else { return continuation.resume(returning: true) }
      waitForCapacity(exchange, continuation)
    } catch {
      leave()
      continuation.resume(returning: false)
    }
  }

  func end(_ exchange: HTTPExchange, _ whenTaken: @escaping @Sendable (Bool) -> Void) {
    guard isCurrent(exchange) else { return whenTaken(false) }
    do throws(ResponseFraming.Violation) {
      socket.write(try exchange.response.end())
    } catch {
      // Its client must not take it for a whole one.
      leave()
      return whenTaken(false)
    }
    awaitOutput()
    afterOutput = .end(exchange, whenTaken)
    flush()
    update()
  }

  private func waitForCapacity(_ exchange: HTTPExchange, _ continuation: CheckedContinuation<Bool, Never>) {
    countHeldBytes()
    // Who has more than its share waits until the client has taken everything.
    guard !socket.isWritable || isOverShare else { return continuation.resume(returning: true) }
    exchange.resumeWriter(false)
    exchange.writer = continuation
    awaitOutput()
    update()
  }

  private func isCurrent(_ exchange: HTTPExchange) -> Bool { self.exchange === exchange && phase == .open }

  func finish(_ exchange: HTTPExchange) {
    self.exchange = nil
    guard !exchange.response.closes, !requestGuard.hasFailed, !exchange.needsContinue else { return linger() }
    if requestGuard.isComplete { return startNext() }
    input.discardable = Self.discardable
    setInputDeadline(timeouts.discard, isForHead: true)
    advance()
  }

  func responderEnded(_ exchange: HTTPExchange, _ server: any HTTPServer) {
    perform { connection in
      exchange.cancel = nil
      // Half a response must not look like a whole one; but what there is of it goes out.
      guard connection.isCurrent(exchange) else { return }
      connection.flush()
      connection.leave()
    }
    server.responderEnds(on: self)
  }
}

/// When a connection has waited for long enough: for its client's bytes, and for its client to take some.
struct HTTPTimer {
  var input: MonotonicInstant?
  var output: MonotonicInstant?
  /// How many bytes waited for the client when `output` was set.
  var unwritten = 0
  /// Whether `input` is for a request that has begun.
  var isForHead = false
  private var scheduled: (at: MonotonicInstant, id: LoopTimers.ID)?

  /// Schedules `action` for the next deadline, or some time before it: most deadlines are put off before they come.
  mutating func arm(on loop: EpollLoop, _ action: @escaping () -> Void) {
    guard let next = [input, output].compactMap({ $0 }).min() else { return }
    if let scheduled {
      guard scheduled.at > next else { return }
      loop.cancel(scheduled.id)
    }
    scheduled = (next, loop.schedule(in: max(.zero, next - loop.now), action))
  }

  /// `action` is being called.
  mutating func hasFired() { scheduled = nil }

  mutating func cancel(on loop: EpollLoop) {
    (input, output) = (nil, nil)
    if let scheduled { loop.cancel(scheduled.id) }
    scheduled = nil
  }
}

/// The state of reading a connection.
struct HTTPInput {
  /// Whether everything was read that the client sends.
  var hasEnded = false
  /// Whether bytes that have come wait for the connection's turn.
  var isQueued = false
  /// Bytes of a body that may still be dropped.
  var discardable = 0
  /// How many requests have come.
  var requests = 0
  /// Whether the last response has been written.
  var isAnswered = false
  /// Whether bytes are being taken in further up the stack.
  var isAdvancing = false
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
