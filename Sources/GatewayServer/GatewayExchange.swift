import HTTPMessages
import NIOCore
import PosternSupport

/// The bytes of a body that have come and were not fetched yet.
struct BodyQueue: Sendable {
  private(set) var count = 0
  private var pieces: [ByteBuffer] = []
  private var end: GatewayBodyPiece?

  /// Adds bytes.
  mutating func append(_ bytes: ByteBuffer) {
    guard bytes.readableBytes > 0, end == nil else { return }
    count += bytes.readableBytes
    pieces.append(bytes)
  }

  /// Notes how it ends; the first one counts. A body that has failed gives none of the bytes that came before.
  mutating func finish(_ piece: GatewayBodyPiece) {
    guard end == nil else { return }
    end = piece
    if case .failed = piece { (pieces, count) = ([], 0) }
  }

  /// The next step; nil: more must come first.
  mutating func next() -> GatewayBodyPiece? {
    guard !pieces.isEmpty else { return end }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    for piece in pieces { bytes.append(contentsOf: piece.readableBytesView) }
    pieces.removeAll(keepingCapacity: true)
    count = 0
    return .bytes(bytes)
  }
}

/// One request and its response. All variables belong to the connection's event loop.
final class GatewayExchange: @unchecked Sendable {
  // Sendable because its variables are touched on the connection's event loop only.

  let head: RequestHead
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

  init(_ head: RequestHead, closes: Bool) {
    self.head = head
    needsContinue = head.expectsContinue
    response = ResponseFraming(
      method: head.line.method, minorVersion: head.line.minorVersion, closes: closes || head.closes)
    if head.framing == .none { body.finish(.end) }
  }

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

  /// Somebody waits from now on; returns until when that makes sense.
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
