import Glibc
import NIOCore
import PosternSupport

/// One connection to the misbehaving server: each request is read and then answered in the way its path names.
struct MisbehavingConnection: Sendable {
  typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  /// Where requests are counted.
  let statistics: Statistics
  /// The clock of the waits.
  let clock: any EngineClock

  /// A TLS alert: fatal, handshake failure (RFC 8446 section 6).
  private static let alert: [UInt8] = [0x15, 3, 3, 0, 2, 2, 40]

  /// Adds what is needed to a new connection; runs on its event loop.
  static func configure(_ channel: any NIOCore.Channel) throws -> Channel {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(IdleStateHandler(allTimeout: Limits.idle))
    try pipeline.addHandler(IdleCloseHandler())
    return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
  }

  /// Serves `channel` until either side ends it.
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
      var received: [UInt8] = []
      var count = 0
      for try await buffer in inbound {
        received += buffer.readableBytesView
        // A client that starts TLS gets an alert: there is none.
        if received.first == 0x16 { return try await outbound.write(ByteBuffer(bytes: Self.alert)) }
        while let request = RawRequest(takingFrom: &received, number: count) {
          count += 1
          statistics.count(\.misbehavingRequests)
          guard try await carryOut(steps(for: request), on: channel, outbound) else { return }
        }
        guard received.count <= Limits.bodyBytes else { return }
      }
    }
  }

  private func steps(for request: RawRequest) -> [FaultStep] {
    guard let misbehaviour = Misbehaviour(rawValue: request.name) else {
      return [.head("404 Not Found", "Content-Length: 0")]
    }
    return misbehaviour.steps(for: request)
  }

  /// Whether the connection goes on afterwards.
  private func carryOut(
    _ steps: [FaultStep], on channel: Channel, _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) async throws -> Bool {
    // What is sent without a pause goes out in one piece, so that what is behind an answer comes with it.
    var pending = ByteBuffer()
    func flush() async throws {
      if pending.readableBytes > 0 { try await outbound.write(pending) }
      pending.clear()
    }
    for step in steps {
      if case .send(let bytes) = step {
        pending.writeBytes(bytes)
        continue
      }
      try await flush()
      switch step {
      case .send: break
      case .flood(let bytes, let times):
        // Several at a time, or the client would wait for the playground.
        let several = max(1, min(times, (16 << 10) / max(1, bytes.count)))
        let buffer = ByteBuffer(bytes: (0..<several).flatMap { _ in bytes })
        for _ in 0..<times / several { try await outbound.write(buffer) }
        for _ in 0..<times % several { try await outbound.write(ByteBuffer(bytes: bytes)) }
      case .drip(let bytes, let milliseconds):
        for byte in bytes {
          try await clock.sleep(for: .milliseconds(milliseconds))
          try await outbound.write(ByteBuffer(bytes: [byte]))
        }
      case .wait(let milliseconds): try await clock.sleep(for: .milliseconds(milliseconds))
      case .stall:
        // Until the client goes, which cancels this.
        try await clock.sleep(for: .seconds(600))
      case .close: return false
      case .reset:
        let options = channel.channel as? any SocketOptionProvider
        try await options?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        return false
      }
    }
    try await flush()
    return true
  }
}
