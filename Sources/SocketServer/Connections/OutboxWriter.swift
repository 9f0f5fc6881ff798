import Glibc
import NIOCore
import PosternSupport

/// No SIGPIPE for a peer that is gone (NIO ignores the signal, too), and never blocking.
private let sendFlags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)

/// Writes the outbox of one connection: straight to the socket, and through NIO what the kernel does not take at once.
///
/// The short way saves a quarter of the processor time of a small answer. It is taken only while NIO holds nothing, so
/// the order stays.
final class OutboxWriter: @unchecked Sendable {
  // Sendable because every variable is touched on the channel's event loop only; timers and promises hold the reference
  // merely to get there.

  private let connection: Connection
  private let channel: ConnectionChannel
  /// Called when the kernel has taken everything.
  var whenEmpty: () -> Void = {}
  /// Whether sends are only collected until the next `drain`.
  private var isInBatch = false
  private var reusable = ByteBuffer()
  /// Bytes given to NIO so far: what the kernel did not take at once.
  private var handedOver = 0
  /// False when NIO was seen empty since.
  private var mayChannelHoldBytes = false
  /// The channel's state as the outbox knows it.
  private(set) var reported = ChannelBacklog()
  private var watch: WriteWatch
  private var timer: Scheduled<Void>?

  /// `timeout` is how long the peer may take nothing of what waits for it.
  init(_ connection: Connection, _ channel: ConnectionChannel, timeout: Duration) {
    self.connection = connection
    self.channel = channel
    watch = WriteWatch(limit: timeout)
  }

  /// From here to the next `drain` on this event loop sends are only collected; false when the connection is closing.
  func beginBatch(_ framing: Framing?) -> Bool {
    isInBatch = true
    return connection.withOutbox { outbox in
      outbox.isDrainOwed = true
      if let framing { outbox.framing = framing }
      return outbox.phase == .open
    }
  }

  /// Writes what was collected.
  func endBatch() {
    if isInBatch { drain() }
  }

  /// Writes the outbox.
  func drain() {
    isInBatch = false
    guard channel.isActive, let context = channel.context else { return }
    var taken = recycledBuffer()
    let (pieces, isClosing, hasWaiters) = connection.withOutbox { outbox in
      (outbox.take(&taken), outbox.phase == .closing, !outbox.waiters.isEmpty)
    }
    if var first = pieces.first {
      // The first one only: a peer that reads fast would keep the event loop busy with all of them.
      if !channelHoldsBytes { writeNow(&first) }
      let rest = [first] + pieces.dropFirst() + [taken]
      writeThroughChannel(rest.filter { $0.readableBytes > 0 }, context)
      taken = ByteBuffer()
    } else if taken.readableBytes > 0 {
      if !channelHoldsBytes { writeNow(&taken) }
      if taken.readableBytes > 0 { writeThroughChannel([taken], context) }
    }
    // A large message's buffer is not kept for the next one, which may be long in coming.
    reusable = taken.capacity <= Self.reusableCapacity ? taken : ByteBuffer()
    connection.settle()
    if hasWaiters { resumeWaiters() }
    if isClosing, channel.phase == .open { flushLast(context) }
  }

  /// Resumes those that wait for capacity, if there is some.
  func resumeWaiters() {
    for waiter in connection.withOutbox({ $0.takeWaitersIfWritable() }) { waiter.resume(returning: true) }
  }

  /// Reports the channel's state to the outbox.
  func reportChannel(_ context: ChannelHandlerContext) {
    let backlog = ChannelBacklog(bytes: channel.bufferedBytes, isWritable: context.channel.isWritable)
    guard backlog != reported else { return }
    reported = backlog
    connection.withOutbox { $0.channel = backlog }
    connection.settle()
  }

  /// The connection is over.
  func stop() { timer?.cancel() }

  // MARK: - Writing

  /// Whether NIO still holds bytes that the kernel did not take.
  private var channelHoldsBytes: Bool {
    guard mayChannelHoldBytes, channel.context != nil else { return false }
    mayChannelHoldBytes = channel.bufferedBytes > 0
    return mayChannelHoldBytes
  }

  /// One send; moves the buffer's reader index by what the kernel took. Errors are left for NIO to meet again.
  private func writeNow(_ buffer: inout ByteBuffer) {
    var sent = -1
    repeat {
      sent = buffer.withUnsafeReadableBytes { Glibc.send(channel.descriptor, $0.baseAddress, $0.count, sendFlags) }
    } while sent < 0 && errno == EINTR
    if sent > 0 { buffer.moveReaderIndex(forwardBy: sent) }
  }

  private func writeThroughChannel(_ buffers: [ByteBuffer], _ context: ChannelHandlerContext) {
    guard let last = buffers.last else { return }
    handedOver += buffers.reduce(0) { $0 + $1.readableBytes }
    mayChannelHoldBytes = true
    let taken = context.eventLoop.makePromise(of: Void.self)
    taken.futureResult.whenSuccess { self.channelTook() }
    for buffer in buffers.dropLast() { context.write(ConnectionChannelHandler.wrapOutboundOut(buffer), promise: nil) }
    context.writeAndFlush(ConnectionChannelHandler.wrapOutboundOut(last), promise: taken)
    // The write may have failed and ended the connection.
    guard channel.context != nil else { return }
    reportChannel(context)
    watchWrites(context)
  }

  /// The kernel has taken a write that it did not take at once. Where the uid has much waiting a connection goes on
  /// when it has nothing left, which the channel's own marks do not tell of.
  private func channelTook() {
    guard channel.isActive, let context = channel.context else { return }
    reportChannel(context)
    if reported.bytes == 0, channel.phase == .open { whenEmpty() }
  }

  /// Everything is taken; lingers once it is with the kernel.
  private func flushLast(_ context: ChannelHandlerContext) {
    channel.beginFlushing()
    guard channelHoldsBytes else {
      channel.linger()
      return
    }
    let flushed = context.eventLoop.makePromise(of: Void.self)
    flushed.futureResult.whenSuccess { self.channel.linger() }
    context.writeAndFlush(ConnectionChannelHandler.wrapOutboundOut(ByteBuffer()), promise: flushed)
  }

  /// The largest buffer that is used again.
  private static let reusableCapacity = 1 << 16

  /// The buffer of the last write, if it is free again.
  private func recycledBuffer() -> ByteBuffer {
    guard reusable.capacity > 0 else { return ByteBuffer() }
    var buffer = reusable
    reusable = ByteBuffer()
    buffer.clear()
    return buffer
  }

  // MARK: - Write timeout

  /// Something was handed to the channel: starts the write clock unless it runs.
  private func watchWrites(_ context: ChannelHandlerContext) {
    guard timer == nil else { return }
    timer = context.eventLoop.scheduleTask(in: .init(watch.interval)) { self.checkWrites() }
  }

  private func checkWrites() {
    timer = nil
    guard let context = channel.context else { return }
    let buffered = channel.bufferedBytes
    // Keeps `pendingWriteBytes` fresh while a slow peer drains.
    reportChannel(context)
    switch watch.sample(written: handedOver - buffered, buffered: buffered, now: .init(context.eventLoop.now)) {
    case .idle: break
    case .stuck: channel.closeNow(.writeTimeout)
    case .checkAgain(let delay):
      timer = context.eventLoop.scheduleTask(in: .init(delay)) { self.checkWrites() }
    }
  }
}

extension MonotonicInstant {
  /// The event loop's clock. Not the boot clock: only differences of these instants are used.
  init(_ deadline: NIODeadline) {
    self.init(nanoseconds: Int64(clamping: deadline.uptimeNanoseconds))
  }
}
