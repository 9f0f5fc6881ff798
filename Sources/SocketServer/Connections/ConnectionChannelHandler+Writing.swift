import Glibc
import NIOCore

/// No SIGPIPE for a peer that is gone (NIO ignores the signal, too), and never blocking.
private let sendFlags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)

extension ConnectionChannelHandler {
  /// Writes the outbox: straight to the socket, and through NIO what the kernel does not take at once.
  ///
  /// The short way saves a quarter of the processor time of a small answer. It is taken only while NIO holds nothing,
  /// so the order stays.
  func drain() {
    isInBatch = false
    guard isActive, let context else { return }
    var taken = recycledBuffer()
    let (pieces, isClosing, hasWaiters) = connection.withOutbox { outbox in
      (outbox.take(&taken), outbox.phase == .closing, outbox.hasWaiters)
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
    if isClosing, !isFlushingLast { flushLast(context) }
  }

  /// Whether NIO still holds bytes that the kernel did not take.
  private var channelHoldsBytes: Bool {
    guard mayChannelHoldBytes, let context else { return false }
    mayChannelHoldBytes = bufferedBytes(context) > 0
    return mayChannelHoldBytes
  }

  /// One send; moves the buffer's reader index by what the kernel took. Errors are left for NIO to meet again.
  private func writeNow(_ buffer: inout ByteBuffer) {
    var sent = -1
    repeat {
      sent = buffer.withUnsafeReadableBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, sendFlags) }
    } while sent < 0 && errno == EINTR
    if sent > 0 { buffer.moveReaderIndex(forwardBy: sent) }
  }

  private func writeThroughChannel(_ buffers: [ByteBuffer], _ context: ChannelHandlerContext) {
    guard let last = buffers.last else { return }
    handedOver += buffers.reduce(0) { $0 + $1.readableBytes }
    mayChannelHoldBytes = true
    let taken = context.eventLoop.makePromise(of: Void.self)
    taken.futureResult.whenSuccess { self.channelTook() }
    for buffer in buffers.dropLast() { context.write(Self.wrapOutboundOut(buffer), promise: nil) }
    context.writeAndFlush(Self.wrapOutboundOut(last), promise: taken)
    // The write may have failed and ended the connection.
    guard self.context != nil else { return }
    reportChannel(context)
    watchWrites(context)
  }

  /// The kernel has taken a write that it did not take at once. Where the uid has much waiting a connection goes on
  /// when it has nothing left, which the channel's own marks do not tell of.
  private func channelTook() {
    guard isActive, let context else { return }
    reportChannel(context)
    if reportedChannelBytes == 0, !isFlushingLast { resume(context) }
  }

  /// Everything is taken; lingers once it is with the kernel.
  private func flushLast(_ context: ChannelHandlerContext) {
    isFlushingLast = true
    guard channelHoldsBytes else {
      linger()
      return
    }
    let flushed = context.eventLoop.makePromise(of: Void.self)
    flushed.futureResult.whenSuccess { self.linger() }
    context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer()), promise: flushed)
  }

  /// Reports the channel's state to the outbox.
  func reportChannel(_ context: ChannelHandlerContext) {
    let isWritable = context.channel.isWritable
    let bytes = bufferedBytes(context)
    guard isWritable != reportedWritable || bytes != reportedChannelBytes else { return }
    reportedWritable = isWritable
    reportedChannelBytes = bytes
    connection.withOutbox { outbox in
      outbox.isChannelWritable = isWritable
      outbox.channelBytes = bytes
    }
    connection.settle()
  }

  /// Resumes those that wait for capacity, if there is some.
  func resumeWaiters() {
    for waiter in connection.withOutbox({ $0.takeWaitersIfWritable() }) { waiter.resume(returning: true) }
  }

  /// Bytes the channel holds because the kernel does not take them yet.
  func bufferedBytes(_ context: ChannelHandlerContext) -> Int {
    // The one error is a closed channel, which holds nothing.
    (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
  }

  /// Everything is with the kernel: ends the write side and waits a little for the peer to do the same, reading on.
  /// Closing with unread input would make the peer see a reset.
  private func linger() {
    guard let context, !isLingering else { return }
    closeReason = closeReason ?? .requested
    isLingering = true
    // When the peer has half-closed, both directions are over now and NIO closes for good.
    context.close(mode: .output, promise: nil)
    guard self.context != nil else { return }
    lingerTimer = context.eventLoop.scheduleTask(in: .init(timeouts.linger)) { self.closeNow(.requested) }
    resumeReading(context)
  }

  /// Closes both directions now.
  func closeNow(_ reason: CloseReason) {
    guard let context else { return }
    closeReason = closeReason ?? reason
    context.close(promise: nil)
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
}
