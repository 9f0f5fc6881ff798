import Glibc
import NIOCore
import NIOHTTP1
import PosternSupport

/// One client's connection: requests are read whole, answered one after another, and dropped when the client goes.
struct ServerConnection: Sendable {
  typealias Channel = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

  /// The endpoint that answers.
  let endpoint: any Endpoint
  /// Where abandoned requests are counted.
  let statistics: Statistics
  /// The clock of the `Date` field of answers.
  let clock: any EngineClock

  /// Adds the HTTP handlers to a new connection; runs on its event loop.
  static func configure(_ channel: any NIOCore.Channel) throws -> Channel {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(IdleStateHandler(allTimeout: Limits.idle))
    try pipeline.configureHTTPServerPipeline(
      withEncoderConfiguration: .init(),
      withDecoderLimitConfiguration: Limits.decoder
    )
    try pipeline.addHandler(IdleCloseHandler())
    return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
  }

  /// Serves `channel` until either side ends it. An endpoint that waits is cancelled when its client has gone.
  func run(_ channel: Channel) async {
    let work = Task { try? await serve(channel) }
    channel.channel.closeFuture.whenComplete { _ in work.cancel() }
    await withTaskCancellationHandler {
      await work.value
    } onCancel: {
      work.cancel()
    }
  }

  private func serve(_ channel: Channel) async throws {
    try await channel.executeThenClose { inbound, outbound in
      var assembly = RequestAssembly()
      for try await part in inbound {
        switch assembly.take(part) {
        case .wait:
          continue
        case .askToContinue:
          try await outbound.write(.head(HTTPResponseHead(version: .http1_1, status: .continue)))
        case .tooLarge(let head):
          try await write(.problem(413, "the body is larger than 1 MiB"), to: head, keepAlive: false, on: outbound)
          return
        case .request(let request, let head):
          let reply = try await answer(request)
          if case .hangUp = reply.body { return }
          if case .reset = reply.body {
            let options = channel.channel as? any SocketOptionProvider
            try await options?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
            return
          }
          if case .half(let bytes) = reply.body {
            await writeHalf(of: bytes, responseHead(of: reply, keepAlive: false), on: channel.channel)
            return
          }
          if let noteWritten = reply.noteWritten {
            await writeThrough(reply, keepAlive: head.isKeepAlive, noteWritten, on: channel.channel)
            if !head.isKeepAlive { return }
            continue
          }
          try await write(reply, to: head, keepAlive: head.isKeepAlive, on: outbound)
          if !head.isKeepAlive { return }
        }
      }
    }
  }

  private func answer(_ request: Request) async throws -> Reply {
    do {
      return try await endpoint.reply(to: request)
    } catch is CancellationError {
      statistics.count(\.abandonedRequests)
      throw CancellationError()
    } catch {
      return .problem(500, "\(error)")
    }
  }

  private func write(
    _ reply: Reply,
    to request: HTTPRequestHead,
    keepAlive: Bool,
    on outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
  ) async throws {
    var head = responseHead(of: reply, keepAlive: keepAlive)
    let bodyless = request.method == .HEAD || reply.status == 204 || reply.status == 304
    switch reply.body {
    case .bytes(let bytes):
      if reply.status != 204 && reply.status != 304 {
        head.headers.replaceOrAdd(name: "content-length", value: String(bytes.count))
      }
      let content =
        bodyless || bytes.isEmpty ? [] : [HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes)))]
      try await outbound.write(contentsOf: [.head(head)] + content + [.end(nil)])
    case .pattern(let length, let chunked):
      if !chunked { head.headers.replaceOrAdd(name: "content-length", value: String(length)) }
      try await outbound.write(.head(head))
      var pattern = BytePattern(length: bodyless ? 0 : length)
      while let chunk = pattern.next() { try await outbound.write(.body(.byteBuffer(chunk))) }
      try await outbound.write(.end(nil))
    case .half, .hangUp, .reset:
      return
    }
  }

  /// Writes an answer of bytes, and reports whether the system took all of it while the client was connected.
  private func writeThrough(
    _ reply: Reply, keepAlive: Bool, _ noteWritten: @escaping @Sendable (Bool) -> Void, on channel: any NIOCore.Channel
  ) async {
    guard case .bytes(let bytes) = reply.body else { return }
    var head = responseHead(of: reply, keepAlive: keepAlive)
    head.headers.replaceOrAdd(name: "content-length", value: String(bytes.count))
    noteWritten(true)
    let parts = [HTTPServerResponsePart.head(head), .body(.byteBuffer(ByteBuffer(bytes: bytes)))]
    // In one go on the event loop: nothing comes between the write and the look at what became of it. A write to a peer
    // that has just gone succeeds, too; on loopback the reset is there as soon as the write returns.
    let fault = channel.eventLoop.flatSubmit {
      for part in parts { channel.write(part, promise: nil) }
      return channel.writeAndFlush(HTTPServerResponsePart.end(nil))
        .flatMap { channel.getOption(.socketOption(.so_error)) }
    }
    fault.whenComplete { result in
      if (try? result.get()) != 0 { noteWritten(false) }
    }
    await fault.ended()
  }

  /// Writes a header block that announces all of `bytes`, and the first half of them.
  private func writeHalf(of bytes: [UInt8], _ head: HTTPResponseHead, on channel: any NIOCore.Channel) async {
    var head = head
    head.headers.replaceOrAdd(name: "content-length", value: String(bytes.count))
    let half = ByteBuffer(bytes: bytes.prefix(bytes.count / 2))
    channel.write(HTTPServerResponsePart.head(head), promise: nil)
    await channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(half))).ended()
  }

  private func responseHead(of reply: Reply, keepAlive: Bool) -> HTTPResponseHead {
    var head = HTTPResponseHead(
      version: .http1_1,
      status: HTTPResponseStatus(statusCode: reply.status),
      headers: reply.headers
    )
    // RFC 9110 section 6.6.1: a server with a clock sends the date.
    if let date = HTTPDate.string(clock.wallNow) { head.headers.replaceOrAdd(name: "date", value: date) }
    if !keepAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
    return head
  }
}
