import PosternRuntime
import PosternSupport

/// Writes the outbox of one connection: straight to the socket, and by way of its backlog what the kernel does not take
/// at once.
final class OutboxWriter: @unchecked Sendable {
  // Sendable because every variable is touched on the loop only; timers hold the reference merely to get there.

  private let connection: Connection
  private let socket: ConnectionSocket
  /// Called when the kernel has taken everything.
  var whenEmpty: () -> Void = {}
  /// Called when the backlog has become so large that the peer counts as not reading, and when it reads again.
  var whenWritabilityChanges: () -> Void = {}
  /// Whether sends are only collected until the next `drain`.
  private var isInBatch = false
  private var reusable = ByteBuffer()
  /// Bytes that the kernel did not take at once, so far.
  private var queuedBytes = 0
  /// The state of the socket's backlog as the outbox knows it.
  private(set) var reported = BacklogState()
  private var watch: WriteWatch
  private var timer: LoopTimers.ID?

  /// `timeout` is how long the peer may take nothing of what waits for it.
  init(_ connection: Connection, _ socket: ConnectionSocket, timeout: Duration) {
    self.connection = connection
    self.socket = socket
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
    guard socket.isActive else { return }
    var taken = recycledBuffer()
    let (pieces, isClosing, hasWaiters) = connection.withOutbox { outbox in
      (outbox.take(&taken), outbox.phase == .closing, !outbox.waiters.isEmpty)
    }
    let hasTaken = taken.count > 0 || !pieces.isEmpty
    if var first = pieces.first {
      // The first one only: a peer that reads fast would keep the event loop busy with all of them.
      if socket.backlog.isEmpty { socket.sendNow(&first) }
      queue([first] + pieces.dropFirst() + [OutboundPiece(bytes: taken)])
      taken = ByteBuffer()
    } else if taken.count > 0 {
      if socket.backlog.isEmpty { socket.sendNow(&taken) }
      if taken.count > 0 {
        queue([OutboundPiece(bytes: taken)])
        taken = ByteBuffer()
      }
    }
    // A large message's buffer is not kept for the next one, which may be long in coming.
    reusable = taken.capacity <= Self.reusableCapacity ? taken : ByteBuffer()
    if hasTaken { connection.settle() }
    if hasWaiters { resumeWaiters() }
    if isClosing, socket.phase == .open { flushLast() }
  }

  /// Resumes those that wait for capacity, if there is some.
  func resumeWaiters() {
    for waiter in connection.withOutbox({ $0.takeWaitersIfWritable() }) { waiter.resume(returning: true) }
  }

  /// The connection is over.
  func stop() {
    if let timer { socket.loop.cancel(timer) }
  }

  // MARK: - Writing

  private func queue(_ pieces: [OutboundPiece]) {
    queuedBytes += pieces.reduce(0) { $0 + $1.bytes.count }
    socket.queue(pieces)
    report()
    watchWrites()
  }

  /// The kernel has taken some of the backlog. Where the uid has much waiting a connection goes on when it has nothing
  /// left, which the backlog's own marks do not tell of.
  func didWrite() {
    report()
    guard socket.backlog.isEmpty else { return }
    switch socket.phase {
    case .open: whenEmpty()
    case .flushing: socket.linger()
    case .lingering: break
    }
  }

  /// Reports the backlog to the outbox.
  private func report() {
    let state = BacklogState(bytes: socket.backlog.bytes, isWritable: socket.backlog.isWritable)
    guard state != reported else { return }
    let hasChanged = state.isWritable != reported.isWritable
    reported = state
    connection.withOutbox { $0.backlog = state }
    connection.settle()
    if hasChanged { whenWritabilityChanges() }
  }

  /// Everything is taken; lingers once it is with the kernel.
  private func flushLast() {
    socket.beginFlushing()
    if socket.backlog.isEmpty { socket.linger() }
  }

  /// The largest buffer that is used again.
  private static let reusableCapacity = 1 << 16

  /// The buffer of the last write, if it is free again.
  private func recycledBuffer() -> ByteBuffer {
    guard reusable.capacity > 0 else { return ByteBuffer() }
    var buffer = reusable
    reusable = ByteBuffer()
    buffer.removeAll()
    return buffer
  }

  // MARK: - Write timeout

  /// The kernel did not take something: starts the write clock unless it runs.
  private func watchWrites() {
    guard timer == nil, !socket.backlog.isEmpty else { return }
    timer = socket.loop.schedule(in: watch.interval) { self.checkWrites() }
  }

  private func checkWrites() {
    timer = nil
    guard socket.isActive else { return }
    let buffered = socket.backlog.bytes
    switch watch.sample(written: queuedBytes - buffered, buffered: buffered, now: socket.loop.now) {
    case .idle: break
    case .stuck: socket.closeNow(.writeTimeout)
    case .checkAgain(let delay): timer = socket.loop.schedule(in: delay) { self.checkWrites() }
    }
  }
}
