import NIOCore

/// The channel of one connection as long as it is in the pipeline: whether it is read, and the steps of its end.
final class ConnectionChannel: @unchecked Sendable {
  // Sendable because every variable is touched on the channel's event loop only; timers hold the reference merely to
  // get there.

  /// How far the end has come, seen from this side.
  enum Phase {
    case open
    /// Nothing more will be sent: the last bytes are on their way to the kernel.
    case flushing
    /// Everything is with the kernel: waits a little for the peer to close, too.
    case lingering
  }

  /// The channel's socket: good while `isActive`, for NIO closes it on this event loop.
  let descriptor: CInt
  private let lingerTime: Duration
  /// Nil before the pipeline has the handler, and when the connection is over.
  private(set) var context: ChannelHandlerContext?
  private(set) var isActive = false
  private(set) var phase = Phase.open
  private(set) var closeReason: CloseReason?
  /// Whether the peer waits until more is read from it.
  private(set) var isReadSuppressed = false
  private var lingerTimer: Scheduled<Void>?
  /// The process that connected was gone when it was last looked for.
  private var peerHasEnded = false

  init(descriptor: CInt, lingerTime: Duration) {
    self.descriptor = descriptor
    self.lingerTime = lingerTime
  }

  /// Whether the channel is there, and this side has not ended what it sends.
  var isOpen: Bool { context != nil && phase == .open }

  /// Bytes that NIO holds because the kernel does not take them yet.
  var bufferedBytes: Int {
    // The one error is a closed channel, which holds nothing.
    (try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
  }

  // MARK: - Life

  /// The handler is in the pipeline.
  func attach(_ context: ChannelHandlerContext) { self.context = context }

  /// Bytes can be written.
  func activate() { isActive = true }

  /// The connection is over; false when it was already.
  func detach() -> Bool {
    guard context != nil else { return false }
    isActive = false
    context = nil
    lingerTimer?.cancel()
    return true
  }

  // MARK: - Reading

  /// Reads when `isAllowed`, or later.
  func read(isAllowed: Bool) {
    isReadSuppressed = true
    resumeReading(isAllowed: isAllowed)
  }

  /// Reads again if reading was suppressed and need not be any more. After this side's end everything is read.
  func resumeReading(isAllowed: Bool) {
    guard isReadSuppressed, isAllowed || phase == .lingering, let context else { return }
    isReadSuppressed = false
    context.read()
  }

  // MARK: - End

  /// The last bytes are on their way.
  func beginFlushing() { phase = .flushing }

  /// Everything is with the kernel: ends the write side and waits a little for the peer to do the same, reading on.
  /// Closing with unread input would make the peer see a reset.
  func linger() {
    guard let context, phase != .lingering else { return }
    closeReason = closeReason ?? .requested
    phase = .lingering
    // When the peer has half-closed, both directions are over now and NIO closes for good.
    context.close(mode: .output, promise: nil)
    guard self.context != nil else { return }
    lingerTimer = context.eventLoop.scheduleTask(in: .init(lingerTime)) { self.closeNow(.requested) }
    resumeReading(isAllowed: true)
  }

  /// Closes both directions now.
  func closeNow(_ reason: CloseReason) {
    guard let context else { return }
    closeReason = closeReason ?? reason
    context.close(promise: nil)
  }

  /// Closes the connection when the process that connected had exited at the last check, too: the bytes that it left
  /// have been read by then, and without another process the connection would have ended by itself. The credentials are
  /// not those of a process that has inherited it.
  ///
  /// False when the kernel cannot report it now.
  func checkPeerProcess() -> Bool {
    guard isActive, phase != .lingering else { return true }
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
