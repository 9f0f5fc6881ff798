import PosternRuntime
public import PosternSupport

/// One peer's connection: what the layer above holds to answer on. Everything here may be called from any thread.
///
/// Owned by the server until the peer or this side closes it. Shared state is behind `outbox`'s lock; the socket itself
/// belongs to the connection's event loop.
public final class Connection: Sendable {
  /// Counts connections of this server from 1; never used again.
  public let id: UInt64

  /// The credentials of the peer; at an endpoint those of its maker.
  public let peer: PeerCredentials

  /// Runs tasks on this connection's event loop: a task started with this preference hops no threads, and must not
  /// block.
  public let taskExecutor: any TaskExecutor & WorkPoster

  let loop: EpollLoop
  /// The unread bytes of all connections of the peer's uid.
  let unread: ByteLedger
  /// The bytes of messages of all connections of the peer's uid that are not handled yet.
  let unfinished: ByteLedger
  /// The descriptors that the peer has passed and no call has claimed.
  let unclaimed = UnclaimedDescriptors()
  private let pauses = Locked(0)
  private let outbox: Locked<Outbox>
  private let handler: Locked<ConnectionHandler?>

  init(
    id: UInt64, peer: PeerCredentials, loop: EpollLoop, taskExecutor: any TaskExecutor & WorkPoster,
    outbox: Outbox, unread: ByteLedger, unfinished: ByteLedger
  ) {
    self.unread = unread
    self.unfinished = unfinished
    self.id = id
    self.peer = peer
    self.loop = loop
    self.taskExecutor = taskExecutor
    self.outbox = Locked(outbox)
    handler = Locked(nil)
  }

  /// The framing of this connection; `stream` until the peer's first byte selects another one.
  public var framing: Framing { outbox.withLock { $0.framing } }

  /// Whether the caller runs on this connection's event loop.
  public var isOnEventLoop: Bool { loop.isCurrent }

  /// Runs `body` on this connection's event loop, later even when called there.
  public func execute(_ body: @escaping @Sendable () -> Void) { loop.execute(body) }

  // MARK: - Sending

  /// Sends one message: frames it as this connection speaks and queues it. `message` must hold no line feed in stream
  /// framing. Order is that of the calls; messages sent before the event loop gets to write go out in one write.
  ///
  /// False when nothing was sent because the connection is closing or closed. Never waits: a caller with a lot to send
  /// waits in `writable()` first, and a connection with more than `pendingBytes` waiting is closed. Where more than
  /// `unreadBytesPerUid` waits for the connections of this uid, the one that has not taken any for longest is closed.
  @discardableResult
  public func send(_ message: UnsafeRawBufferPointer) -> Bool {
    // A long one is copied before the lock is taken: the event loop must not wait for that.
    let pieces =
      message.count > OutboundMessages.pieceBytes
      ? OutboundMessages.pieces(of: message, framing: framing) : nil
    return finish(
      outbox.withLock { outbox in
        let outcome = pieces.map { outbox.append($0) } ?? outbox.append(message)
        return (outcome, report(&outbox))
      })
  }

  /// Does what comes of a message that was queued, or was not; false when it was not.
  private func finish(_ result: (outcome: Outbox.Outcome, isTooMuch: Bool)) -> Bool {
    let (outcome, isTooMuch) = result
    if isTooMuch { unread.takeSlowest()?.close(.overflow) }
    switch outcome {
    case .queued: return true
    case .drainNeeded:
      scheduleDrain()
      return true
    case .dropped: return false
    case .overflow:
      close(.overflow)
      return false
    }
  }

  /// Sends one message; see `send(_: UnsafeRawBufferPointer)`.
  @discardableResult
  public func send(_ message: [UInt8]) -> Bool { message.withUnsafeBytes { send($0) } }

  /// Sends one message with descriptors, which go with its first byte and are closed here then, or with the connection.
  /// Where the kernel does not pass them, or the peer's uid leaves too many in sockets that it does not read, the
  /// message that `otherwise` returns goes out instead; nil closes the connection. It is called once, on the event
  /// loop.
  @discardableResult
  public func send(
    _ message: UnsafeRawBufferPointer, passing descriptors: [PassedDescriptor],
    otherwise: @escaping @Sendable () -> [UInt8]?
  ) -> Bool {
    let framing = framing
    let passing = OutboundPiece.Passing(descriptors: descriptors) {
      otherwise()?.withUnsafeBytes { OutboundMessages.whole($0, framing: framing) }
    }
    let whole = OutboundMessages.whole(message, framing: framing)
    return finish(outbox.withLock { outbox in (outbox.append([whole], passing: passing), report(&outbox)) })
  }

  /// Sends bytes as they are, in a frame with more header fields, each line with its end; false also when the peer does
  /// not speak in frames. At most as many bytes as fit into one piece.
  public func send(_ bytes: UnsafeRawBufferPointer, inFrameWith fields: String) -> Bool {
    guard framing == .headers else { return false }
    return finish(outbox.withLock { outbox in (outbox.append(bytes, fields: fields), report(&outbox)) })
  }

  /// Bytes waiting to be written, as last seen: a slow peer's progress is looked at every few seconds.
  var pendingWriteBytes: Int { outbox.withLock { $0.pendingBytes } }

  /// Whether the peer keeps up. Nothing is read from a peer that does not.
  public var isWritable: Bool { outbox.withLock { $0.isWritable } }

  /// Waits until the peer keeps up; false when the connection is closing or the task was cancelled first.
  @discardableResult
  public func writable() async -> Bool {
    let ticket = outbox.withLock { $0.makeTicket() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if let answer = outbox.withLock({ $0.wait(ticket, continuation) }) {
          continuation.resume(returning: answer)
        } else if Task.isCancelled {
          // Cancelled before there was a waiter to find.
          cancelWaiter(ticket)
        }
      }
    } onCancel: {
      cancelWaiter(ticket)
    }
  }

  private func cancelWaiter(_ ticket: Int) {
    outbox.withLock { $0.removeWaiter(ticket) }?.resume(returning: false)
  }

  // MARK: - Descriptors

  /// Whether the peer has passed descriptors that no call has claimed.
  public var hasDescriptors: Bool { !unclaimed.isEmpty }

  /// Claims the first `count` descriptors that the peer has passed, or as many as there are.
  public func takeDescriptors(_ count: Int) -> [PassedDescriptor] { unclaimed.take(count) }

  // MARK: - Pausing

  /// Stops reading and delivering until `resume` was called as often. A delivery in progress is completed.
  public func pause() { pauses.withLock { $0 += 1 } }

  /// Undoes one `pause`.
  public func resume() {
    let isLast = pauses.withLock { pauses in
      pauses -= 1
      return pauses == 0
    }
    guard isLast, let handler = handler.withLock({ $0 }) else { return }
    loop.execute { handler.inputResumes() }
  }

  var isPaused: Bool { pauses.withLock { $0 > 0 } }

  // MARK: - Closing

  /// Closes at once; what waits to be written is lost.
  public func close() { close(.requested) }

  /// Writes what was sent so far, then closes: the write side first, and the rest when the peer has closed too, or
  /// after the linger time, so that the peer gets the last bytes before any reset. Later sends are dropped, what the
  /// peer sends is thrown away.
  public func closeAfterFlush() {
    let mustSchedule = outbox.withLock { outbox in
      let begins = outbox.beginClosing()
      return begins && outbox.oweDrain()
    }
    if mustSchedule { scheduleDrain() }
    resumeWaiters()
  }

  func close(_ reason: CloseReason) {
    _ = outbox.withLock { $0.beginClosing() }
    resumeWaiters()
    guard let handler = handler.withLock({ $0 }) else { return }
    loop.execute { handler.closeNow(reason) }
  }

  private func resumeWaiters() {
    // Closing: `wait` answers false from here on, and so must those who came before.
    for waiter in outbox.withLock({ $0.takeWaitersIfClosing() }) { waiter.resume(returning: false) }
  }

  // MARK: - Unread bytes

  /// Reports the unread bytes to the uid's ledger.
  func settle() { _ = outbox.withLock { report(&$0) } }

  /// True when there is more, and there was too much before. Within the outbox's lock: changes reach the ledger in
  /// their order.
  private func report(_ outbox: inout Outbox) -> Bool {
    let change = outbox.takeUnreported()
    return change != 0 && unread.add(change, of: self)
  }

  // MARK: - Between the connection and its handler

  func attach(_ handler: ConnectionHandler) { self.handler.withLock { $0 = handler } }

  func withOutbox<Result>(_ body: (inout Outbox) -> Result) -> Result { outbox.withLock(body) }

  /// The socket is closed.
  func didClose() {
    handler.withLock { $0 = nil }
    unfinished.forget(self)
    let waiters = outbox.withLock { outbox in
      unread.forget(self)
      return outbox.close()
    }
    for waiter in waiters { waiter.resume(returning: false) }
  }

  /// See `ConnectionHandler.checkPeerProcess`; on the event loop.
  func checkPeerProcess() -> Bool { handler.withLock { $0 }?.checkPeerProcess() ?? true }

  private func scheduleDrain() {
    guard let handler = handler.withLock({ $0 }) else { return }
    if loop.isCurrent { loop.atEndOfIteration(handler) } else { loop.execute { handler.drain() } }
  }
}
