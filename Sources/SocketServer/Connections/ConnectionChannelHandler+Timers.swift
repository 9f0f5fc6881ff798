import NIOCore
import PosternSupport

extension ConnectionChannelHandler {
  /// Bytes came and a message is incomplete: starts or feeds the stall clock.
  func watchStall(_ context: ChannelHandlerContext) {
    stall.progressed(
      ordinal: input.framer.messageOrdinal, length: input.framer.messageLength,
      now: MonotonicInstant(context.eventLoop.now))
    // One timer per connection, left to run: it looks at the clock again instead of being moved with every read.
    guard stallTimer == nil else { return }
    stallTimer = context.eventLoop.scheduleTask(in: .init(timeouts.stall)) { self.checkStall() }
  }

  private func checkStall() {
    stallTimer = nil
    guard let context, acceptsInput, input.framer.isMidMessage else { return }
    let now = MonotonicInstant(context.eventLoop.now)
    if isReadSuppressed { stall.suspended(now: now) }
    switch stall.verdict(now: now) {
    case .stalled: closeNow(.stalled)
    case .checkAgain(let delay):
      stallTimer = context.eventLoop.scheduleTask(in: .init(delay)) { self.checkStall() }
    }
  }

  /// Something was handed to the channel: starts the write clock unless it runs.
  func watchWrites(_ context: ChannelHandlerContext) {
    guard writeTimer == nil else { return }
    writeTimer = context.eventLoop.scheduleTask(in: .init(writeWatch.interval)) { self.checkWrites() }
  }

  private func checkWrites() {
    writeTimer = nil
    guard let context else { return }
    let buffered = bufferedBytes(context)
    // Keeps `pendingWriteBytes` fresh while a slow peer drains.
    reportChannel(context)
    let now = MonotonicInstant(context.eventLoop.now)
    switch writeWatch.sample(written: handedOver - buffered, buffered: buffered, now: now) {
    case .idle: break
    case .stuck: closeNow(.writeTimeout)
    case .checkAgain(let delay):
      writeTimer = context.eventLoop.scheduleTask(in: .init(delay)) { self.checkWrites() }
    }
  }
}

extension MonotonicInstant {
  /// The event loop's clock. Not the boot clock: only differences of these instants are used.
  fileprivate init(_ deadline: NIODeadline) {
    self.init(nanoseconds: Int64(clamping: deadline.uptimeNanoseconds))
  }
}

extension ConnectionChannelHandler {
  /// Closes the connection when the process that connected had exited at the last check, too: the bytes that it left
  /// have been read by then, and without another process the connection would have ended by itself. The credentials are
  /// not those of a process that has inherited it.
  ///
  /// False when the kernel cannot report it now.
  func checkPeerProcess() -> Bool {
    guard isActive, !isLingering else { return true }
    switch PeerProcess.observe(socket: descriptor) {
    case .unsupported: return false
    case .observable(let process) where process.isAlive: return true
    case .observable, .exited:
      if peerHasEnded { closeNow(.peerEnded) }
      peerHasEnded = true
      return true
    }
  }
}

/// The time limits of one connection, each brought into the range that the event loop's clock can count in.
struct ConnectionTimeouts: Sendable {
  /// See `SocketServer.Configuration.stallTimeout`.
  let stall: Duration
  /// See `SocketServer.Configuration.writeTimeout`.
  let write: Duration
  /// See `SocketServer.Configuration.lingerTime`.
  let linger: Duration

  /// Longer is as good as never.
  private static let longest = Duration.seconds(365 * 86_400)

  init(stall: Duration, write: Duration, linger: Duration) {
    self.stall = min(max(stall, .milliseconds(1)), Self.longest)
    self.write = min(max(write, .milliseconds(1)), Self.longest)
    self.linger = min(max(linger, .zero), Self.longest)
  }
}
