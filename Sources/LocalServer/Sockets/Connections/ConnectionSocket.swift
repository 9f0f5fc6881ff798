import Glibc
import PosternRuntime
import PosternSupport

/// The socket of one connection on its event loop: what it is watched for, the bytes that the kernel does not take yet,
/// and the steps of its end.
final class ConnectionSocket: @unchecked Sendable {
  // Sendable because every variable is touched on the loop only; timers hold the reference merely to get there.

  /// How far the end has come, seen from this side.
  enum Phase {
    case open
    /// Nothing more will be sent: the last bytes are on their way to the kernel.
    case flushing
    /// Everything is with the kernel: waits a little for the peer to close, too.
    case lingering
  }

  let descriptor: CInt
  let loop: EpollLoop
  private let lingerTime: Duration
  private let reader: SocketReader
  private let unclaimed: UnclaimedDescriptors
  /// The bytes that the kernel does not take yet.
  private(set) var backlog = SendBacklog()
  /// False when the descriptor is closed.
  private(set) var isActive = false
  private(set) var phase = Phase.open
  private(set) var closeReason: CloseReason?
  /// Whether the peer waits until more is read from it.
  private(set) var isReadSuppressed = false
  /// The peer has ended what it sends.
  private var hasReadAll = false
  private var lingerTimer: LoopTimers.ID?
  /// The process that connected was gone when it was last looked for.
  private var peerHasEnded = false
  /// Called once, when the connection is over.
  private var onEnd: () -> Void = {}
  /// Called once, when its descriptor is closed, on any thread.
  private var onClosed: @Sendable () -> Void = {}

  init(_ descriptor: CInt, of connection: Connection, _ reader: SocketReader, lingerTime: Duration) {
    self.descriptor = descriptor
    self.reader = reader
    loop = connection.loop
    unclaimed = connection.unclaimed
    self.lingerTime = lingerTime
  }

  /// Whether this side has not ended what it sends.
  var isOpen: Bool { isActive && phase == .open }

  // MARK: - Life

  /// Watches the socket from here on, for `handler`. `onEnd` is called once, when the connection is over, `onClosed`
  /// after it, when the descriptor is closed, on any thread.
  func activate(
    _ handler: any ReadinessHandler, onEnd: @escaping () -> Void, onClosed: @escaping @Sendable () -> Void
  ) throws(EpollError) {
    try loop.watch(descriptor, for: .readable, handler)
    self.onEnd = onEnd
    self.onClosed = onClosed
    isActive = true
  }

  private func watch() {
    guard isActive else { return }
    var interest: Readiness = []
    if !isReadSuppressed, !hasReadAll { interest.insert(.readable) }
    if !backlog.isEmpty { interest.insert(.writable) }
    loop.rewatch(descriptor, for: interest)
  }

  // MARK: - Reading

  /// A read of the socket.
  enum Read {
    case bytes(ByteBuffer)
    case end
    /// There are no bytes now.
    case nothing
  }

  /// Reads once, through the loop's buffer, and keeps a copy of exactly the bytes received. Nil when that ended the
  /// connection.
  func read() -> Read? {
    let outcome = reader.read(descriptor, into: loop.scratch)
    guard outcome.count >= 0 else {
      let code = CInt(-outcome.count)
      if code == EAGAIN || code == EWOULDBLOCK { return .nothing }
      closeNow(.failed(errno: code))
      return nil
    }
    guard let descriptors = outcome.descriptors, descriptors.isEmpty || unclaimed.add(descriptors) else {
      closeNow(.descriptors)
      return nil
    }
    guard outcome.count > 0 else {
      hasReadAll = true
      watch()
      return .end
    }
    return .bytes(ByteBuffer(UnsafeRawBufferPointer(rebasing: loop.scratch[..<outcome.count])))
  }

  /// Has the socket read when `isAllowed`; after this side's end everything is read.
  func allowReading(_ isAllowed: Bool) {
    let isSuppressed = !(isAllowed || phase == .lingering)
    guard isSuppressed != isReadSuppressed else { return }
    isReadSuppressed = isSuppressed
    watch()
  }

  // MARK: - Writing

  /// Sends what the kernel takes now; moves the buffer's reader index by it. Errors are met again by the next write of
  /// the loop.
  func sendNow(_ buffer: inout ByteBuffer) {
    let sent = SendBacklog.send(buffer, to: descriptor)
    if sent > 0 { buffer.removeFirst(sent) }
  }

  /// The same for a piece; its descriptors go with the first byte.
  func sendNow(_ piece: inout OutboundPiece) { _ = SendBacklog.send(&piece, to: descriptor, reader) }

  /// Keeps `pieces` until the kernel takes them.
  func queue(_ pieces: [OutboundPiece]) {
    backlog.append(pieces)
    watch()
  }

  /// The kernel takes more: writes on. False when that ended the connection.
  func writeOn() -> Bool {
    let failure = backlog.write(to: descriptor, reader)
    guard failure == 0 else {
      closeNow(.failed(errno: failure))
      return false
    }
    watch()
    return true
  }

  // MARK: - End

  /// The last bytes are on their way.
  func beginFlushing() { phase = .flushing }

  /// Everything is with the kernel: ends the write side and waits a little for the peer to do the same, reading on.
  /// Closing with unread input would make the peer see a reset.
  func linger() {
    guard isActive, phase != .lingering else { return }
    closeReason = closeReason ?? .requested
    phase = .lingering
    // Both directions are over.
    guard !hasReadAll, shutdown(descriptor, CInt(SHUT_WR)) == 0 else { return closeNow(.requested) }
    lingerTimer = loop.schedule(in: lingerTime) { self.closeNow(.requested) }
    allowReading(true)
  }

  /// Closes both directions now.
  func closeNow(_ reason: CloseReason) {
    guard isActive else { return }
    closeReason = closeReason ?? reason
    isActive = false
    if let lingerTimer { loop.cancel(lingerTimer) }
    backlog = SendBacklog()
    loop.unwatch(descriptor)
    // Closed before the socket, whose slot is another connection's only when all are closed.
    _ = unclaimed.take(.max)
    reader.close(descriptor, onClosed: onClosed)
    onClosed = {}
    onEnd()
    onEnd = {}
  }

  /// Leaves the descriptor to `take`, with what is to be called, on any thread, when it is closed. Here the connection is
  /// over.
  func handOver(_ take: (CInt, @escaping @Sendable () -> Void) -> Void) {
    guard isActive else { return }
    closeReason = .becameHTTP
    isActive = false
    if let lingerTimer { loop.cancel(lingerTimer) }
    loop.unwatch(descriptor)
    _ = unclaimed.take(.max)
    let onClosed = onClosed
    self.onClosed = {}
    onEnd()
    onEnd = {}
    take(descriptor, onClosed)
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
